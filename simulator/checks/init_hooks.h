// What code with init_checks() calls (init_checks.h).
#pragma once

#include <span>

#include "simulator/execution/value_observer.h"
#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

using execution::ValueOrigin;
using execution::ValueUse;

[[nodiscard]] std::span<const jit::HookAddress> init_hooks();

}  // namespace cudasim::checks
