// Arithmetic that is defined and seldom meant: shifts by the width or more, conversions of floats that no
// integer can hold, and operations that make the first NaN or infinity out of finite numbers. Warnings.
#pragma once

#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

[[nodiscard]] const jit::Instrumentation& arithmetic_checks();

}  // namespace cudasim::checks
