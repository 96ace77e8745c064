// `f(*values)` and functions with a `*rest` parameter: rewritten to plain arguments while types are found,
// because only the types say how many there are.
#pragma once

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

/// Rewrites the calls of a block whose operands are typed: each `*tuple` becomes its elements, and what goes
/// into the callee's `*rest` becomes one tuple.
void expand_spread_arguments(Program& program, FlowGraph& graph, BlockId block);

}  // namespace cudasim::pykernel
