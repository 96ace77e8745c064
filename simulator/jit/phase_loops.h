// Gives each resume point of a coroutine kernel a loop over threads of its own.
//
// split_at_barriers() leaves one loop, whose head asks for every thread where it goes on. In
// most phases all threads of a block go on at the same point, and the code behind a barrier is
// often shorter than the question:
//
//   head ─► switch (state) ─┬─ k ──► head k ─► state = k? ─► code behind barrier k ─► next thread ─► head k
//    ▲                      │                      │ no
//    │                      └─ over ─► next thread │
//    └─────────────────────────────────────────────┘
//
// Threads still run in the order of their numbers, whatever their states are.
#pragma once

#include "simulator/jit/compilation.h"
#include "simulator/jit/lowering.h"

namespace cudasim::jit {

/// Runs after split_at_barriers(), on a kernel that became a coroutine. Copies code: the loop's own
/// for each resume point, and what can be reached from several of them. Where much code follows a
/// barrier, the common loop stays.
void give_phases_their_loops(Compilation& compilation, const ThreadLoop& loop);

}  // namespace cudasim::jit
