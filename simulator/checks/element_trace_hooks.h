// What code with element_traces() calls (element_trace.h).
#pragma once

#include <span>

#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

[[nodiscard]] std::span<const jit::HookAddress> element_trace_hooks();

}  // namespace cudasim::checks
