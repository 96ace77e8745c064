// Where the variables of a C++ program lie that are not a function's own: __device__, __constant__ and
// __shared__ ones, for stops. Python's shared and constant arrays are local variables that refer to theirs.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Fills Compilation::source_variables, once the variables' places are known and before they are removed.
void note_source_variables(Compilation& compilation);

}  // namespace cudasim::jit
