// Which threads wrote to elements of memory in a recorded launch, where, what, and what they had read
// (simulator/checks/element_trace.h): the launch is repeated once in code that is compiled for it.
#pragma once

#include <span>
#include <vector>

#include "simulator/checks/element_trace.h"
#include "simulator/driver/launch_record.h"
#include "simulator/driver/simulated_device.h"

namespace cudasim::driver {

struct Trace {
    std::vector<checks::TracedElement> elements;  ///< as they were asked for
    execution::LaunchResult result;               ///< of the repeated launch
};

/// Restores the record's memory on the device and runs its kernel on one worker, without looking for races.
/// Arrays among the arguments name the elements that are read. Values are those of the record, except in
/// kernels with fast-math flags: optimised together with the trace, their arithmetic may be rounded
/// differently.
/// @param elements addresses as recorded, and so are those in the result
/// @param options to run with, mostly record.options; order, seed and carrier decide who writes when. For a
/// record of unknown origin with memory checks, since unchecked code may write anywhere
/// @throws RecordError for a kernel that a front end runs itself, and for what cannot be restored;
/// std::invalid_argument for elements that lie in no recorded memory, and what checks::ElementTrace refuses;
/// execution::CudaError, jit::CompileError, image::ImageError, image::Cancelled
[[nodiscard]] Trace trace_elements(SimulatedDevice& device, const LaunchRecord& record,
                                   std::span<const execution::AddressRange> elements,
                                   const checks::TraceLimits& limits,
                                   const execution::LaunchOptions& options);
[[nodiscard]] inline Trace trace_elements(SimulatedDevice& device, const LaunchRecord& record,
                                          std::span<const execution::AddressRange> elements,
                                          const checks::TraceLimits& limits = {}) {
    return trace_elements(device, record, elements, limits, record.options);
}

}  // namespace cudasim::driver
