// The values of a thread's variables when it faulted (simulator/jit/captured_variables.h), put together from
// what its cold path left in the block's context.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "simulator/execution/launch.h"

namespace cudasim::execution {

class BlockRun;
struct Runner;

/// The variables of the thread that has just faulted, with the elements of its arrays in
/// shared and local memory. Empty where nothing was captured: faults that only the processor
/// noticed, and waits that never end.
[[nodiscard]] std::vector<findings::VariableValue> captured_values(const Launch& launch,
                                                                   const BlockRun& block,
                                                                   const Runner& runner);

/// The variables of a thread of code that is compiled for stops (stop.h), of all
/// its functions, as they are now.
/// @param innermost of the thread's records; null: it has none yet
/// @param runner that carries the thread; null for a coroutine that waits
[[nodiscard]] std::vector<findings::VariableValue> variables_in_records(const Launch& launch,
                                                                        const BlockRun& block,
                                                                        const jit::FrameRecord* innermost,
                                                                        const Runner* runner);

/// The kernel's arguments, of code that is compiled for stops, as a thread finds them that has not started.
[[nodiscard]] std::vector<findings::VariableValue> arguments_of(const Launch& launch);

/// Gives a variable another value. @return where it lies; null when the frame has no such variable, it has
/// not been assigned, or its type has another size.
[[nodiscard]] std::byte* set_in_record(const Launch& launch, jit::FrameRecord* innermost, std::uint32_t frame,
                                       std::string_view name, std::span<const std::byte> bytes);

/// Copies the elements of the arrays in global memory that the first error's variables refer to. Called at
/// the end of the launch, while the arrays are still there.
void keep_global_arrays(const Launch& launch, std::vector<findings::Finding>& findings);

}  // namespace cudasim::execution
