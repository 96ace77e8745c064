// The functions that kernels may call: each a row with its typing rule beside its code generation.
// Rows live with their family: builtin_calls.cpp, sequence_calls.cpp, math_calls.cpp, libdevice_calls.cpp,
// cuda_calls.cpp, warp_calls.cpp, bit_calls.cpp, memory_calls.cpp, atomic_calls.cpp, array_calls.cpp,
// reduction_calls.cpp, ufunc_calls.cpp (on arrays: ufunc_arrays.h), number_calls.cpp, operator_calls.cpp,
// iteration_calls.cpp, print_calls.cpp, vector_calls.cpp, cache_hint_calls.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontend/pykernel/emission.h"
#include "frontend/pykernel/program.h"

namespace cudasim::pykernel {

struct Callable;

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

struct CallEmission {
    FunctionEmitter& emitter;
    const Callable& callable;
    const Instruction& call;
    std::vector<Emitted> arguments;  ///< type null where left out

    [[nodiscard]] const Emitted& operator[](std::size_t i) const { return arguments[i]; }
    [[nodiscard]] bool has(std::size_t i) const { return i < arguments.size() && arguments[i].type; }
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

std::span<const Callable> vector_callables();
std::span<const Callable> cache_hint_callables();
std::span<const Callable> half_callables();
std::span<const Callable> builtin_callables();
std::span<const Callable> sequence_callables();
std::span<const Callable> math_callables();
std::span<const Callable> libdevice_callables();
std::span<const Callable> cuda_callables();
std::span<const Callable> warp_callables();
std::span<const Callable> bit_callables();
std::span<const Callable> memory_callables();
std::span<const Callable> atomic_callables();
std::span<const Callable> array_callables();
std::span<const Callable> reduction_callables();
std::span<const Callable> ufunc_callables();
std::span<const Callable> number_callables();
std::span<const Callable> operator_callables();
std::span<const Callable> iteration_callables();
std::span<const Callable> print_callables();
std::span<const Callable> foreign_callables();

/// What kernels write in place of a ufunc ("numpy.sqrt") that Numba's CUDA target does not have; empty when
/// there is nothing to say.
[[nodiscard]] std::string_view instead_of_ufunc(std::string_view name);

}  // namespace cudasim::pykernel
