// Operators and functions of the compiler's own that take values of types which a program has added
// (numba.cuda.extending).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
/// What a value of such a type is as a condition: what the program says of bool(), or the number that it
/// converts to. @throws SourceError
[[nodiscard]] Resolution added_condition(Program& program, TypeRef operand, Location place);
/// Whether next() takes values of such a type.
[[nodiscard]] bool is_added_iterator(Program& program, TypeRef type, Location place);
/// The same as added_operation() of a call of a function that the compiler knows, whose arguments may have
/// names.
/// @param types of the instruction's operands
[[nodiscard]] std::optional<Resolution> added_call(Program& program, const Instruction& call,
                                                   const std::string& function,
                                                   std::span<const TypeRef> types);

/// What a rule makes of numbers in place of the operands whose types a program has added, where each converts
/// to the number (lower_cast); Resolution::arguments says to which. Without a result where there is none.
/// @param operands null where an optional one is left out
/// @param attempt gives what the rule makes of operands of these types; without a result, or it throws, where
/// it is not for them
[[nodiscard]] Resolution by_conversion(Program& program, Location place, std::vector<TypeRef> operands,
                                       const std::function<Resolution(const std::vector<TypeRef>&)>& attempt);
/// Whether a function that the compiler knows takes numbers of certain types, so that its arguments may be
/// what converts to them.
[[nodiscard]] bool takes_converted(std::string_view function);

}  // namespace cudasim::pykernel
