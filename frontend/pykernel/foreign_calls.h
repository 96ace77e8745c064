// Calls of functions that were declared with cuda.declare_device() and come from linked PTX (frontend/ptx).
#pragma once

#include "frontend/pykernel/emission.h"
#include "frontend/pykernel/program.h"

namespace cudasim::pykernel {

/// What the call gives. @param given types of its arguments @throws SourceError when they do not fit the
/// declaration
[[nodiscard]] TypeRef type_foreign_call(Program& program, const GlobalValue& callee, const Instruction& call,
                                        const std::vector<TypeRef>& given);

/// Numba's convention: `int symbol(result*, arguments...)`, its status is not looked at; C's: `result
/// symbol(arguments...)` (Numba's documentation, "Writing CUDA-Python", calling foreign functions).
[[nodiscard]] Emitted emit_foreign_call(FunctionEmitter& emitter, const GlobalValue& callee,
                                        const Instruction& call, const std::vector<Emitted>& given);

}  // namespace cudasim::pykernel
