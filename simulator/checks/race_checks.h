// The race detector in compiled code: what it inserts around accesses, and where it calls the detector.
//
// In line, before each access to memory that threads share: the word's cell is looked at, and where the
// accesses in it are all ordered before this one by a barrier or the beginning of the launch, or are the
// thread's own, this one takes its place. Everything else is a call of the detector, which decides. Fences,
// warp barriers and, in kernels that have any of them, atomic operations are calls.
//
// Left out is what cannot race: local variables, constant memory, parameters.
#pragma once

#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

/// Runs after memory_checks(): where an access is reported, its memory exists. Reads through parameters that
/// the kernel does not write through are left out: KernelFacts::parameter_use says which. They cannot race
/// as long as no parameter that it writes through points to the same allocation.
[[nodiscard]] const jit::Instrumentation& race_checks();
/// The same without leaving out any.
[[nodiscard]] const jit::Instrumentation& race_checks_of_all();

}  // namespace cudasim::checks
