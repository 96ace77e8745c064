// What `a[i] = x` and `record.field = x` may assign: Numba's rules. emit_views.cpp and emit_records.cpp do
// it.
#pragma once

#include "frontend/pykernel/graph/flow_graph.h"
#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

/// @throws SourceError unless container[index] can be given the value
void check_set_item(TypeTable& types, const Instruction& in, TypeRef container, TypeRef index, TypeRef value);
/// @throws SourceError unless the object has a field `in.text` that can be given the value
void check_set_attribute(TypeTable& types, const Instruction& in, TypeRef object, TypeRef value);

}  // namespace cudasim::pykernel
