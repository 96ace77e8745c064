// Conditions of breakpoints in Python kernels (debugger/control/expression_compiler.h): Python says what
// their names are and makes a kernel of them (cudasim.debugging.conditions), which is compiled here.
#pragma once

#include <pybind11/pybind11.h>

#include "debugger/control/expression_compiler.h"

namespace cudasim::bindings {

/// Lives as long as the process: launches of other threads may be using it.
[[nodiscard]] debugger::ExpressionCompiler* new_condition_compiler(pybind11::object compiler);

/// "ZeroDivisionError: division by zero". With the GIL.
[[nodiscard]] std::string text_of(const pybind11::error_already_set& error);

}  // namespace cudasim::bindings
