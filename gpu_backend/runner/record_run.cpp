// See record_run.h.
#include "gpu_backend/runner/record_run.h"

#include <utility>
#include <vector>

#include "simulator/records/blocks.h"
#include "simulator/records/changes.h"

namespace cudasim::runner {
namespace {

using records::BlockReader;
using records::BlockWriter;
using records::Content;
using records::GpuResult;
using records::GpuStatus;

GpuResult run(const records::GpuLaunch& launch, const BlockReader& input, BlockWriter& output,
              RunnerProcess& gpu, const RecordRunOptions& options) {
    if (!launch.simulated_error.empty() && !options.with_faulting)
        return {.number = launch.number,
                .kernel = launch.kernel,
                .status = GpuStatus::refused,
                .message = "the simulator found an error in it: " + launch.simulated_error +
                           " (--with-faulting runs it all the same)"};
    const records::GpuCode code = records::code_from(input.content(launch.code).bytes());
    records::check_together(launch, code);
    std::vector<Content> contents;
    for (const auto& range : launch.memory) {
        if (range.before.bytes != range.bytes)
            throw records::RecordError("a launch's memory is not in the file");
        contents.push_back(input.content(range.before));
    }
    std::vector<std::vector<records::GpuChange>> changes(contents.size());
    GpuResult result = gpu.run(
        launch, code, [&](std::size_t i) { return contents[i].bytes(); },
        [&](std::size_t i, std::span<const std::byte> after) {
            changes[i] = records::changes_between(contents[i].bytes(), after, output);
        },
        {.seconds = options.seconds});
    if (result.status == GpuStatus::ran) result.changes = std::move(changes);
    return result;
}

/// Those that are to run. @throws records::RecordError where there are none
std::vector<records::GpuLaunch> launches_in(const BlockReader& file, const RecordRunOptions& options) {
    std::vector<records::GpuLaunch> wanted;
    std::string there;
    for (std::size_t i = 0; i < file.count('G'); ++i) {
        auto launch = records::launch_from(file.read('G', i).bytes());
        there = i == 0 ? std::to_string(launch.number)
                       : there.substr(0, there.find("..")) + ".." + std::to_string(launch.number);
        if (launch.number >= options.first && launch.number <= options.last)
            wanted.push_back(std::move(launch));
    }
    if (wanted.empty())
        throw records::RecordError("none of the launches " + there + " of the file was asked for");
    return wanted;
}

}  // namespace

std::uint64_t run_file(const std::filesystem::path& input, const std::filesystem::path& output,
                       RunnerProcess& gpu, const RecordRunOptions& options, const Report& report) {
    const BlockReader launches(input, records::launch_format);
    if (launches.count('G') == 0)
        throw records::RecordError(
            input.string() + (launches.finished()
                                  ? " has no launches for a GPU: make it with `cudasim record --gpu`; "
                                    "kernels in Python mode have none"
                                  : " is not complete, and what is there of it has no launches for a GPU"));
    std::error_code error;
    if (std::filesystem::equivalent(input, output, error))
        throw records::RecordError("the results would replace " + input.string() + ": name another file");
    const std::vector<records::GpuLaunch> wanted = launches_in(launches, options);
    gpu.start();  // before a file is made that nothing will be in
    BlockWriter results(output, records::result_format, nullptr);
    std::uint64_t failed = 0;
    for (const auto& launch : wanted) {
        const GpuResult result = run(launch, launches, results, gpu, options);
        if (result.status != GpuStatus::ran) ++failed;
        results.add('R', records::to_bytes(result));
        report(result);
    }
    results.close();
    return failed;
}

}  // namespace cudasim::runner
