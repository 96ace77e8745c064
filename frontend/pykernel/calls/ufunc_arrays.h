// Ufuncs on whole arrays, np.sin(a, out): the ufunc of numbers for every element of the output array,
// operands broadcast to its shape.
#pragma once

#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {

using TypeRule = TypeRef (*)(const CallTyping&);
using EmitRule = Emitted (*)(CallEmission&);

/// The type of a call whose last parameter is the output, null where it is left out.
/// @param scalar the rule for numbers
[[nodiscard]] TypeRef type_ufunc_call(const CallTyping& call, TypeRule scalar);
[[nodiscard]] Emitted emit_ufunc_call(CallEmission& call, EmitRule scalar);

template <TypeRule type>
TypeRef type_ufunc(const CallTyping& call) {
    return type_ufunc_call(call, type);
}
template <EmitRule emit>
Emitted emit_ufunc(CallEmission& call) {
    return emit_ufunc_call(call, emit);
}
/// The row of a ufunc. @param parameters ending in " out="
template <TypeRule type, EmitRule emit>
constexpr Callable ufunc(std::string_view name, std::string_view parameters) {
    return {name, parameters, type_ufunc<type>, emit_ufunc<emit>};
}

}  // namespace cudasim::pykernel
