// A whole file of records on the GPU of this machine: `cudasim-gpu-run run.cudasim -o gpu.cudasim`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "gpu_backend/runner/runner_process.h"

namespace cudasim::runner {

struct RecordRunOptions {
    double seconds = 60;         ///< for each kernel
    bool with_faulting = false;  ///< also launches in which the simulator found an error
    std::uint64_t first = 1, last = ~std::uint64_t{0};  ///< numbers of launches
};

/// A launch is over; for progress.
using Report = std::function<void(const records::GpuResult&)>;

/// Runs the launches of `input` that are for a GPU, and writes a result for each.
/// @return how many did not run to their end
/// @throws records::RecordError, NoRunner
std::uint64_t run_file(const std::filesystem::path& input, const std::filesystem::path& output,
                       RunnerProcess& gpu, const RecordRunOptions& options, const Report& report);

}  // namespace cudasim::runner
