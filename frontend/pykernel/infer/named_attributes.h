// Attributes whose name is a constant of the program: getattr(x, "name"), hasattr(x, "name").
#pragma once

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

/// Whether values of the type have the attribute, the compiler's or a program's.
[[nodiscard]] bool has_attribute(Program& program, TypeRef object, const std::string& name, Location place);

/// Makes of a typed call of getattr() the attribute itself, if there is one; else it stays a call.
void name_attribute(Program& program, FlowGraph& graph, Instruction& call);

}  // namespace cudasim::pykernel
