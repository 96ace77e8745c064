// Why a launch left other results on a GPU than on the simulator: experiments on its record, each of which
// changes one thing, ranked by how many of the differing elements they change.
//
//   experiments.h            runs the launch again, changed
//   differing_elements.h     what that does to the elements that differ
//   changed_images.h         kernels with one thing changed
//   explanation_evidence.h   all experiments and what is known of the code
//   explanation.cpp          which causes they show, in which order
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpu_backend/launches/compared_launch.h"
#include "gpu_backend/launches/gpu_outcome.h"
#include "gpu_backend/runner/runner_process.h"
#include "simulator/driver/launch_record.h"
#include "simulator/findings/finding.h"

namespace cudasim::gpu_launches {

struct Explanation {
    /// A stable name:
    ///   race             threads access the same memory in no order (findings of the race checks)
    ///   atomic-order     results depend on the order of threads, mostly of float atomics, without a race
    ///   uninitialised    shared or local memory is read before it is written
    ///   fma              multiplications and additions are fused on one side only
    ///   libdevice        with the other mathematical functions, its own or NVIDIA's, the simulator agrees
    ///   fast-math        fast-math flags let both compilers change results
    ///   approximation    instructions or functions that the GPU approximates
    ///   ptx              the PTX computes something else than the kernel that it was made of
    ///   clock            the kernel reads a clock, and elements change whenever the launch is repeated
    ///   addresses        the kernel allocates memory itself, and results depend on the order of threads
    ///   gpu-varies       the GPU itself leaves other results when the launch is repeated
    ///   unexplained      nothing of this
    std::string cause;
    std::uint64_t removes = 0;  ///< differing elements that agree with the experiment
    std::uint64_t moves = 0;    ///< differing elements that have another value with it
    std::uint64_t adds = 0;     ///< elements that differ with it only
    std::uint64_t of = 0;       ///< all differing elements
    std::string text;           ///< for people: what was found, and what to do
    std::vector<findings::SourceLocation> locations;
};

struct ExplainOptions {
    runner::RunnerProcess* gpu = nullptr;  ///< that gave the outcome; null: it came from a file
    double seconds = 30;                   ///< for all experiments together
    double gpu_seconds = 60;               ///< for one launch on the GPU
    /// Called about every 50 ms; true ends the experiments, and what is known by then is returned. It must
    /// not throw.
    std::function<bool()> stop = {};
    std::filesystem::path libdevice = {};  ///< NVIDIA's; empty: where find_libdevice() finds it
};

/// The likeliest first; never empty. An experiment that changes no differing element is not among them, and
/// neither are findings that have nothing to do with them.
/// @param record with memory after the launch @param outcome of a launch that ran to its end
/// @param arrays as for compare_launch()
/// @throws driver::RecordError for a kernel in Python mode, and where the record does not have the memory
/// after the launch; std::invalid_argument as compare_launch()
[[nodiscard]] std::vector<Explanation> explain(const driver::LaunchRecord& record, const GpuOutcome& outcome,
                                               std::span<const ComparedArray> arrays,
                                               const ExplainOptions& options);

/// A JSON array of objects with the members cause, removes, moves, of, text, locations
/// (frontend/python/cudasim/comparing/report_schema.json, "explanation").
[[nodiscard]] std::string to_json(std::span<const Explanation> explanations);

}  // namespace cudasim::gpu_launches
