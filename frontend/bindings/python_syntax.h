// Python's `ast` nodes → the compiler's syntax tree. Nothing but conversion.
#pragma once

#include <pybind11/pybind11.h>

#include "frontend/pykernel/syntax_tree.h"

namespace cudasim::bindings {

/// @param node an ast.FunctionDef or ast.Lambda
/// @param line_offset what to add to the node's line numbers to get those of the file
[[nodiscard]] pykernel::FunctionSyntax function_from_python(pybind11::handle node, int line_offset);

}  // namespace cudasim::bindings
