// Rules: how an operation is typed, beside its code. Those of functions that kernels may call, and
// find_callable(), are in calls/, all others in operations/.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

struct Rule;
struct CallEmission;  // emit/call_emission.h
struct Emitted;       // emit/emission.h

/// A call or another operation whose argument types are known; `arguments` in the order of the row's
/// parameters, null where an optional one is left out.
struct CallTyping {
    Program& program;
    const Rule& callable;
    const Instruction& call;
    Resolution& resolution;  ///< what the rule's code will read
    std::vector<TypeRef> arguments;

    [[nodiscard]] TypeTable& types() const { return program.types; }
    [[nodiscard]] std::size_t size() const { return arguments.size(); }
    [[nodiscard]] TypeRef operator[](std::size_t i) const {
        return i < arguments.size() ? arguments[i] : nullptr;
    }
    /// The type that an operator gives which the rule's code applies: the next of resolution.inner.
    /// Null: there is no such operator.
    TypeRef apply(Operator op, TypeRef left, TypeRef right) const;
    [[noreturn]] void refuse(const std::string& reason, Standing standing = Standing::not_gpu_code) const;
    /// "No implementation of function Function(<built-in function sin>) found for signature: …".
    /// @param because what else helps, or nothing
    [[noreturn]] void no_match(const std::string& because = {}) const;
};

struct Rule {
    std::string_view name;        ///< "cuda.grid", "math.sin", "len"; of an attribute, "array.shape", or
                                  ///< "record.*" for any; else what it is for
    std::string_view parameters;  ///< names separated by blanks; "=" after a name: optional; "*": any number;
                                  ///< "self" first: a method, called array.name, number.name or tuple.name
    TypeRef (*type)(const CallTyping&);  ///< of what is not called: null where it is not for such operands
    Emitted (*emit)(CallEmission&);
    bool takes_optional = false;  ///< its code gets values that may be None as they are
};

/// What the rule makes of operands of these types; without a result where it is not for them.
/// @param at the instruction that the operation belongs to
[[nodiscard]] Resolution by_rule(Program& program, const Instruction& at, const Rule& rule,
                                 std::initializer_list<TypeRef> operands, Operator op = Operator::add);
/// What the first of the rules makes of them that is for them.
[[nodiscard]] Resolution by_first_rule(Program& program, const Instruction& at,
                                       std::span<const Rule* const> rules,
                                       const std::vector<TypeRef>& operands, Operator op = Operator::add);

/// A rule that is found by the name of what is called.
using Callable = Rule;

/// The rule of a call of a type, a class or a declared function (operations/called_values.cpp); else null.
[[nodiscard]] const Rule* rule_of_call(TypeRef callee);

/// Operand number of the call of a named tuple's class for each field. @throws SourceError
[[nodiscard]] std::vector<std::uint32_t> bind_fields(const Instruction& call,
                                                     const std::vector<std::string>& names);

/// The type of the elements that a dtype argument names: a type, or NumPy's name of one. @throws SourceError
[[nodiscard]] TypeRef data_type(const CallTyping& call, TypeRef argument);

/// Null when kernels cannot call it.
[[nodiscard]] const Callable* find_callable(std::string_view name);

/// Operand number of the call for each parameter of the row; `nothing` where left out. @throws SourceError
[[nodiscard]] std::vector<std::uint32_t> bind_call(const Callable& callable, const Instruction& call);

/// What kernels write in place of a ufunc ("numpy.sqrt") that Numba's CUDA target does not have; empty when
/// there is nothing to say.
[[nodiscard]] std::string_view instead_of_ufunc(std::string_view name);

}  // namespace cudasim::pykernel
