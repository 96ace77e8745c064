// What a GPU made of a recorded launch, with the record's memory as the GPU left it.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "gpu_backend/runner/runner_process.h"
#include "simulator/driver/launch_record.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::gpu_launches {

struct GpuOutcome {
    records::GpuResult result;
    /// For each of record.memory; nullopt where the GPU got none of it, or did not run the launch to its end.
    std::vector<std::optional<driver::Content>> after;
};

/// Runs a launch that has GPU code. A launch that the GPU cannot be given is `refused`.
/// @throws runner::NoRunner, driver::RecordError
[[nodiscard]] GpuOutcome run_on_gpu(runner::RunnerProcess& gpu, const driver::LaunchRecord& record,
                                    const runner::RunOptions& options);

/// A file that cudasim-gpu-run has written.
class ResultFile {
  public:
    /// @throws driver::RecordError
    explicit ResultFile(const std::filesystem::path& path) : blocks_(path, records::result_format) {}

    [[nodiscard]] std::size_t results() const { return blocks_.count('R'); }
    [[nodiscard]] bool finished() const { return blocks_.finished(); }
    /// @throws driver::RecordError
    [[nodiscard]] records::GpuResult result(std::size_t index) const;
    /// The result with the memory of its launch.
    /// @throws driver::RecordError where the record is of another launch
    [[nodiscard]] GpuOutcome outcome(std::size_t index, const driver::LaunchRecord& record) const;

  private:
    records::BlockReader blocks_;
};

}  // namespace cudasim::gpu_launches
