// The memory that a launch left on the simulator, beside what it left on a GPU.
#pragma once

#include <span>

#include "gpu_backend/comparison/comparison.h"
#include "gpu_backend/launches/gpu_outcome.h"
#include "simulator/driver/launch_record.h"

namespace cudasim::gpu_launches {

/// An array that the kernel was given, as the front end knows it.
struct ComparedArray {
    comparison::ArrayView view;  ///< `offset` is set by compare_launch()
    comparison::Tolerance tolerance;
};

/// Arrays are compared by their types, all other memory that the GPU got byte by byte, printed lines as
/// multisets. Arrays that lie in no memory of the record are left out.
/// @param record with memory after the launch
/// @param outcome of a launch that ran to its end
/// @throws driver::RecordError where the record does not have the memory after the launch;
///     std::invalid_argument for arrays that exceed their allocation and for tolerances that make no sense
[[nodiscard]] comparison::Comparison compare_launch(const driver::LaunchRecord& record,
                                                    const GpuOutcome& outcome,
                                                    std::span<const ComparedArray> arrays,
                                                    const comparison::Limits& limits = {});

}  // namespace cudasim::gpu_launches
