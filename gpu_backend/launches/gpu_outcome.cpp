// See gpu_outcome.h.
#include "gpu_backend/launches/gpu_outcome.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cudasim::gpu_launches {

GpuOutcome run_on_gpu(runner::RunnerProcess& gpu, const driver::LaunchRecord& record,
                      const runner::RunOptions& options) {
    if (!record.gpu) throw driver::RecordError("the record has no code for a GPU");
    std::vector<std::size_t> indices;
    const records::GpuLaunch launch = driver::gpu_launch_of(record, indices);
    GpuOutcome outcome;
    outcome.after.resize(record.memory.size());
    outcome.result = gpu.run(
        launch, *record.gpu, [&](std::size_t i) { return record.memory[indices[i]].before->bytes(); },
        [&](std::size_t i, std::span<const std::byte> bytes) {
            const auto& before = *record.memory[indices[i]].before;
            if (std::memcmp(before.data(), bytes.data(), bytes.size()) == 0) {
                outcome.after[indices[i]] = before;
                return;
            }
            driver::Content content(bytes.size());
            std::ranges::copy(bytes, content.data());
            outcome.after[indices[i]] = std::move(content);
        },
        options);
    return outcome;
}

records::GpuResult ResultFile::result(std::size_t index) const {
    return records::result_from(blocks_.read('R', index).bytes());
}

GpuOutcome ResultFile::outcome(std::size_t index, const driver::LaunchRecord& record) const {
    GpuOutcome outcome{.result = result(index), .after = {}};
    outcome.after.resize(record.memory.size());
    if (outcome.result.number != record.number || outcome.result.kernel != record.display_name)
        throw driver::RecordError("the results are of another record: launch " +
                                  std::to_string(outcome.result.number) + " there is " +
                                  outcome.result.kernel + ", here " + driver::headline(record));
    if (outcome.result.status != records::GpuStatus::ran) return outcome;
    std::vector<std::size_t> indices;
    const records::GpuLaunch launch = driver::gpu_launch_of(record, indices);
    if (outcome.result.changes.size() != launch.memory.size())
        throw driver::RecordError("the results are of another record: the launch's memory is another one");
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto& before = *record.memory[indices[i]].before;
        const auto& changes = outcome.result.changes[i];
        if (changes.empty()) {
            outcome.after[indices[i]] = before;
            continue;
        }
        driver::Content content(before.size());
        std::ranges::copy(before.bytes(), content.data());
        for (const auto& change : changes) {
            const driver::Content piece = blocks_.content(change.content);
            if (change.offset > content.size() || piece.size() > content.size() - change.offset)
                throw driver::RecordError("a change of memory in the results lies outside of the allocation");
            std::ranges::copy(piece.bytes(), content.data() + change.offset);
        }
        outcome.after[indices[i]] = std::move(content);
    }
    return outcome;
}

}  // namespace cudasim::gpu_launches
