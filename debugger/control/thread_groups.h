// The threads of a launch, those at the same place together. What is on the device is looked at thread by
// thread; blocks that have not started, and those that are over, are counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debugger/control/index_set.h"
#include "debugger/control/kernel_code.h"
#include "simulator/execution/stop.h"

namespace cudasim::debugger {

struct ThreadGroup {
    execution::ThreadState state = execution::ThreadState::over;
    const KernelCode::Line* line = nullptr;  ///< null where the threads are nowhere
    std::string file, function;              ///< of `line`
    std::uint64_t count = 0;
    LinearRanges blocks, threads;  ///< linear; all threads lie in them, and usually no others
    execution::ThreadRef first, last;
    bool on_device = true;
};

/// Ordered by their first threads; those that are not on the device come last.
[[nodiscard]] std::vector<ThreadGroup> thread_groups(const execution::StoppedLaunch& launch,
                                                     const KernelCode& code);

/// Of ascending linear indices.
[[nodiscard]] LinearRanges ranges_of_threads(const std::vector<std::uint32_t>& threads);

/// "stopped", "at barrier", ...
[[nodiscard]] const char* state_text(execution::ThreadState state);

/// Coordinates of a linear index.
[[nodiscard]] findings::Dim3 coordinates_in(const findings::Dim3& extents, std::uint64_t index);
[[nodiscard]] std::uint64_t linear_in(const findings::Dim3& extents, const findings::Dim3& point);

}  // namespace cudasim::debugger
