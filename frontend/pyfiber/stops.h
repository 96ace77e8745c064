// Stops of Python code (simulator/execution/stop.h): a trace function of its own tells
// the engine where lines begin.
//
//   CPython comes to a line ─► on_event ─► the host's trace function, if there is one
//                                 │
//                                 └─► somebody wants the thread to stop here: leave ─► engine ─► come back
//
// The trace function is set for threads of launches with a handler only, in place of the host's, which it
// calls. Where a kernel calls a debugger (`breakpoint()`), that debugger's trace function takes the
// place: the thread stops no more.
#pragma once

#include "frontend/pyfiber/simulated_thread.h"

namespace cudasim::pyfiber {

/// From now on the current thread stops. Call when it runs no Python code yet.
void watch_lines(SimulatedThread& thread);
/// Gives the host's trace function its place back.
void unwatch_lines(SimulatedThread& thread);

}  // namespace cudasim::pyfiber
