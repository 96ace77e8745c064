// What code with init_checks() calls (init_checks.h).
#pragma once

#include <cstdint>
#include <span>

#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

/// What a value is used for.
enum class ValueUse : std::uint8_t {
    operand,
    comparison,
    branch,
    address,
    atomic,
    argument,
    printing,
    result
};

[[nodiscard]] std::span<const jit::HookAddress> init_hooks();

}  // namespace cudasim::checks
