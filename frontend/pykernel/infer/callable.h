// A function that kernels may call, as type inference sees it. The rows and find_callable() are in calls/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

struct Callable;
struct CallEmission;  // emit/call_emission.h
struct Emitted;       // emit/emission.h

/// A call whose argument types are known; `arguments` in the order of the row's parameters, null where
/// an optional one is left out.
struct CallTyping {
    Program& program;
    const Callable& callable;
    const Instruction& call;
    std::vector<TypeRef> arguments;

    [[nodiscard]] TypeTable& types() const { return program.types; }
    [[nodiscard]] std::size_t size() const { return arguments.size(); }
    [[nodiscard]] TypeRef operator[](std::size_t i) const {
        return i < arguments.size() ? arguments[i] : nullptr;
    }
    [[noreturn]] void refuse(const std::string& reason, Standing standing = Standing::not_gpu_code) const;
    /// "No implementation of function Function(<built-in function sin>) found for signature: …".
    /// @param because what else helps, or nothing
    [[noreturn]] void no_match(const std::string& because = {}) const;
};

struct Callable {
    std::string_view name;        ///< "cuda.grid", "math.sin", "len"
    std::string_view parameters;  ///< names separated by blanks; "=" after a name: optional; "*": any number;
                                  ///< "self" first: a method, called array.name, number.name or tuple.name
    TypeRef (*type)(const CallTyping&);
    Emitted (*emit)(CallEmission&);
};

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
