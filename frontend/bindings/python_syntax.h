// Python's `ast` nodes → the compiler's syntax tree. This is conversion only.
#pragma once

#include <pybind11/pybind11.h>

#include "frontend/bindings/text_caster.h"
#include "frontend/pykernel/syntax/syntax_tree.h"
#include "simulator/image/large_stack.h"

namespace cudasim::bindings {

/// @param node an ast.FunctionDef or ast.Lambda
/// @param line_offset what to add to the node's line numbers to get those of the file
[[nodiscard]] pykernel::FunctionSyntax function_from_python(
    pybind11::handle node, int line_offset, const image::Cancellation* cancellation = nullptr);

}  // namespace cudasim::bindings
