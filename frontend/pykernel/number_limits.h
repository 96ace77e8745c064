// The attributes of np.finfo(dtype) and np.iinfo(dtype), known while compiling.
#pragma once

#include <string_view>

#include "frontend/pykernel/emission.h"

namespace cudasim::pykernel {

/// Null when there is no such attribute.
[[nodiscard]] TypeRef limit_type(TypeTable& types, TypeRef limits, std::string_view name);
[[nodiscard]] Emitted emit_limit(FunctionEmitter& emitter, TypeRef limits, std::string_view name,
                                 TypeRef result);

}  // namespace cudasim::pykernel
