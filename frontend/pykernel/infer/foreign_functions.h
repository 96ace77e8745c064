// Types of calls of functions that were declared with cuda.declare_device() and come from linked PTX
// (frontend/ptx).
#pragma once

#include <cstddef>
#include <vector>

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

/// Type `i` of a declared function (GlobalValue::elements): of an argument, or the
/// result's, which is the last.
/// @throws SourceError for a type that foreign functions do not take
[[nodiscard]] TypeRef declared_type(Program& program, const GlobalValue& callee, std::size_t i,
                                    Location place);
/// What the call gives. @param given types of its arguments @throws SourceError when they do not fit the
/// declaration
[[nodiscard]] TypeRef type_foreign_call(Program& program, const GlobalValue& callee, const Instruction& call,
                                        const std::vector<TypeRef>& given);

}  // namespace cudasim::pykernel
