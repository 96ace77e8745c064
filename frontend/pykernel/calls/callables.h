// The functions that kernels may call: each a row with its typing rule beside its code generation.
// Rows live with their family: builtin_calls.cpp, sequence_calls.cpp, math_calls.cpp, libdevice_calls.cpp,
// cuda_calls.cpp, warp_calls.cpp, bit_calls.cpp, memory_calls.cpp, atomic_calls.cpp, array_calls.cpp,
// reduction_calls.cpp, ufunc_calls.cpp (on arrays: ufunc_arrays.h), number_calls.cpp, operator_calls.cpp,
// iteration_calls.cpp, print_calls.cpp, vector_calls.cpp, cache_hint_calls.cpp.
#pragma once

#include <span>

#include "frontend/pykernel/emit/call_emission.h"
#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/infer/callable.h"
#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

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
std::span<const Callable> group_callables();

}  // namespace cudasim::pykernel
