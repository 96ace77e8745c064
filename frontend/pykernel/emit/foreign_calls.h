// Code for calls of functions that come from linked PTX (infer/foreign_functions.h).
#pragma once

#include <vector>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

/// Numba's convention: `int symbol(result*, arguments...)`, its status is not looked at; C's: `result
/// symbol(arguments...)` (Numba's documentation, "Writing CUDA-Python", calling foreign functions).
[[nodiscard]] Emitted emit_foreign_call(FunctionEmitter& emitter, const GlobalValue& callee,
                                        const Instruction& call, const std::vector<Emitted>& given);

}  // namespace cudasim::pykernel
