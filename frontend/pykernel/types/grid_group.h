// The type of cuda.cg.this_grid().
#pragma once

#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

/// A handle, an int64 with a name: like a bound method it is a value that only has something to call.
[[nodiscard]] inline TypeRef grid_group(TypeTable& types) {
    return types.method(types.int64, "GridGroup");
}
[[nodiscard]] inline bool is_grid_group(TypeRef type) {
    return type->is(TypeKind::method) && type->row == "GridGroup";
}

}  // namespace cudasim::pykernel
