// Operators and functions of the compiler's own that take values of types which a program has added
// (numba.cuda.extending).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

/// What a function of Python's ("operator.getitem") means for these operands, if one of them has a type
/// that a program has added and the program has said something of the function; else nullopt.
/// @throws SourceError when no implementation takes the types
[[nodiscard]] std::optional<Resolution> added_operation(Program& program, const std::string& function,
                                                        std::span<const TypeRef> operands, Location place);
/// The same where there must be an implementation. @throws SourceError
[[nodiscard]] Resolution resolve_added(Program& program, Location place, const std::string& function,
                                       std::span<const TypeRef> operands);
/// The same as added_operation() of an operator.
[[nodiscard]] std::optional<Resolution> added_operator(Program& program, Operator op,
                                                       std::span<const TypeRef> operands, Location place);
/// The same of `x += y` ("operator.iadd"); nullopt too where no implementation takes the types: then it is
/// `x = x + y`.
[[nodiscard]] std::optional<Resolution> added_in_place(Program& program, const Instruction& at, TypeRef left,
                                                       TypeRef right);
/// The same of a call of a function that the compiler knows, whose arguments may have names.
/// @param types of the instruction's operands
[[nodiscard]] std::optional<Resolution> added_call(Program& program, const Instruction& call,
                                                   const std::string& function,
                                                   std::span<const TypeRef> types);

}  // namespace cudasim::pykernel
