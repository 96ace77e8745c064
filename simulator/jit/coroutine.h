// The third carrier of rule E1: a kernel whose barriers all lie in the kernel itself needs no stack per
// thread. Its thread loop is cut at the barriers, so that it can be left there and entered again (abi.h):
//
//   head ─► switch (thread's state) ─┬─ fresh ──► body ... ─► barrier k: save, state = k + 1 ┐
//    ▲                               ├─ k + 1 ──► load ─► body behind barrier k ...          ├─► next thread
//    │                               └─ over ──► ────────────────────────────────────────────┤
//    │                                                   body's end: state = over ───────────┘
//    └── (while thread < context.end)
#pragma once

#include "simulator/jit/compilation.h"
#include "simulator/jit/lowering.h"

namespace cudasim::jit {

/// Does anything in the module wait?
[[nodiscard]] bool calls_barrier(const llvm::Module& module);

/// Every barrier is called by the entry function itself, and its local arrays can move to a frame.
[[nodiscard]] bool can_be_coroutine(const Compilation& compilation);

/// Splits the thread loop at its barriers. Runs after number_sites(), and fills Compilation::resume_points
/// and coroutine_frame_bytes.
void split_at_barriers(Compilation& compilation, const ThreadLoop& loop);

}  // namespace cudasim::jit
