// The instrumentations that every launch has by default.
#pragma once

#include "simulator/jit/instrumentation.h"

namespace cudasim::jit {

/// Every loop burns fuel at its back-edge and lets other threads run when it is used up (E5, E11). Call of
/// hook `yield`.
[[nodiscard]] const Instrumentation& safepoint_polls();

/// Shadow lookups for accesses that no declared check guards (C1); redzones around local variables that
/// need them. Calls of hooks `access_check`, `local_begin` and `local_end`.
[[nodiscard]] const Instrumentation& memory_checks();

/// Threads take turns in front of accesses that others can see: calls of hook `turn`. Not among the standard
/// ones; in front of all checks of accesses.
[[nodiscard]] const Instrumentation& access_turns();

/// The first two, in the order in which they have to run: the fuel of the polls is not an access of the
/// kernel.
[[nodiscard]] inline InstrumentationList standard_instrumentations() {
    return {&safepoint_polls(), &memory_checks()};
}

}  // namespace cudasim::jit
