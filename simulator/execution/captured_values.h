// The values of a thread's variables when it faulted (simulator/jit/captured_variables.h), put together from
// what its cold path left in the block's context.
#pragma once

#include <span>
#include <vector>

#include "simulator/execution/launch.h"

namespace cudasim::execution {

class BlockRun;
struct Runner;

/// The variables of the thread that has just faulted, with the elements of its arrays in shared and local memory. Empty
/// where nothing was captured: faults that only the processor noticed, and waits that never end.
[[nodiscard]] std::vector<findings::VariableValue> captured_values(const Launch& launch,
                                                                   const BlockRun& block,
                                                                   const Runner& runner);

/// Copies the elements of the arrays in global memory that the first error's variables refer to. Called at
/// the end of the launch, while the arrays are still there.
void keep_global_arrays(const Launch& launch, std::vector<findings::Finding>& findings);

}  // namespace cudasim::execution
