// Uninitialised values: code that follows which bits of memory and of registers were never written, and
// reports their use.
#pragma once

#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

/// Moving a value is no use of it: loads, stores, copies, shuffles of a warp, selections, conversions between
/// integers and shifts by constants carry its state along, bit by bit. Computing, comparing, branching,
/// addresses, atomic operations, calls and printing are uses; what they give counts as initialised, so a
/// mistake is reported once, where it first matters. Each use calls hook `uninitialised` for the first place
/// of a path only.
///
/// Local arrays are followed as long as their address does not leave the function.
[[nodiscard]] const jit::Instrumentation& init_checks();

}  // namespace cudasim::checks
