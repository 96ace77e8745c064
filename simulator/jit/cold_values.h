// Keeps captures (captured_variables.h) from costing the path without a fault anything, after optimisation.
#pragma once

#include "simulator/jit/captured_variables.h"

namespace cudasim::jit {

inline constexpr const char* capture_symbol = "cudasim.capture";

/// What only captures use is computed on their cold paths.
void sink_cold_values(Compilation& compilation);

}  // namespace cudasim::jit
