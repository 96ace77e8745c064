// See record_run.h.
#include "gpu_backend/runner/record_run.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "simulator/records/blocks.h"

namespace cudasim::runner {
namespace {

using records::BlockReader;
using records::BlockWriter;
using records::Content;
using records::GpuChange;
using records::GpuResult;
using records::GpuStatus;

/// Pieces of chunk_bytes that differ, neighbours as one.
std::vector<GpuChange> changes_between(std::span<const std::byte> before, std::span<const std::byte> after,
                                       BlockWriter& file) {
    std::vector<GpuChange> changes;
    std::size_t begin = 0, end = 0;
    const auto keep = [&] {
        if (begin != end) changes.push_back({begin, file.chunks(after.subspan(begin, end - begin))});
    };
    for (std::size_t at = 0; at < before.size(); at += records::chunk_bytes) {
        const std::size_t size = std::min<std::size_t>(records::chunk_bytes, before.size() - at);
        if (std::memcmp(before.data() + at, after.data() + at, size) == 0) continue;
        if (end != at) {
            keep();
            begin = at;
        }
        end = at + size;
    }
    keep();
    return changes;
}

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
    std::vector<std::vector<GpuChange>> changes(contents.size());
    GpuResult result = gpu.run(
        launch, code, [&](std::size_t i) { return contents[i].bytes(); },
        [&](std::size_t i, std::span<const std::byte> after) {
            changes[i] = changes_between(contents[i].bytes(), after, output);
        },
        {.seconds = options.seconds});
    if (result.status == GpuStatus::ran) result.changes = std::move(changes);
    return result;
}

}  // namespace

std::uint64_t run_file(const std::filesystem::path& input, const std::filesystem::path& output,
                       RunnerProcess& gpu, const RecordRunOptions& options, const Report& report) {
    const BlockReader launches(input, records::launch_format);
    if (launches.count('G') == 0)
        throw records::RecordError(input.string() +
                                   " has no launches for a GPU: make it with `cudasim record --gpu`");
    std::error_code error;
    if (std::filesystem::equivalent(input, output, error))
        throw records::RecordError("the results would replace " + input.string() + ": name another file");
    gpu.start();  // before a file is made that nothing will be in
    BlockWriter results(output, records::result_format, nullptr);
    std::uint64_t failed = 0;
    for (std::size_t i = 0; i < launches.count('G'); ++i) {
        const auto launch = records::launch_from(launches.read('G', i).bytes());
        if (launch.number < options.first || launch.number > options.last) continue;
        const GpuResult result = run(launch, launches, results, gpu, options);
        if (result.status != GpuStatus::ran) ++failed;
        results.add('R', records::to_bytes(result));
        report(result);
    }
    results.close();
    return failed;
}

}  // namespace cudasim::runner
