// Groups of threads: where no check is compiled in and a kernel's threads cannot wait for each other, code
// for `threads_per_group` threads that are neighbours in x takes them through the kernel together, each step
// for all of them. They read neighbouring elements of memory at once, where one thread after another would
// come back to the same lines when the cache has lost them.
//
//   entry ─► cudasim_groups(context, tid, thread) ─► group, group, group ... ─► how many threads are over
//     └────► one thread after another: the end of a row, and a group whose threads go different ways
//
// What differs between the threads of a group becomes a vector, a thread a lane (group_shapes.h says what).
// Where a branch depends on that, and not all lanes go the same way, the group gives up, and its threads run
// one by one from their beginning. So such branches are only allowed while nothing has been stored, and a
// kernel is refused where that cannot be.
//
// A fault that only the processor notices comes in the middle of a group. The engine then runs its threads
// one by one from their beginning, too, and the one that is to blame faults again, now by itself. What they
// had stored before they may store twice, so a kernel in which a fault can follow a store is refused where
// an address or a branch depends on memory.
//
// Threads of a group that communicate without synchronisation see each other in another order than one after
// another; each sees its own accesses in the order of the program.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Target/TargetMachine.h>

#include "simulator/jit/compilation.h"
#include "simulator/jit/group_code.h"
#include "simulator/jit/optimiser.h"

namespace cudasim::jit {

/// The function's name in object code.
inline constexpr const char* group_symbol = "cudasim_groups";

/// i32 cudasim_groups(ThreadContext*, i32 tid.x, i32 tid.y, i32 tid.z, i32 thread): runs groups from this
/// thread on, as far as its row, the context's range and the way of its threads allow. Returns how many
/// threads are over; this bit says that the next group gave up.
inline constexpr std::uint32_t group_gave_up = std::uint32_t{1} << 31;

/// Makes that function of the kernel's body, before build_entry(); null where the kernel or the options do
/// not allow it.
[[nodiscard]] llvm::Function* make_thread_groups(Compilation& compilation, llvm::TargetMachine& machine,
                                                 Effort effort);

}  // namespace cudasim::jit
