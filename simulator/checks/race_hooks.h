// What code that is compiled with race checks calls where its inline tests do not decide (race_checks.cpp),
// and how the arguments are packed.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/checks/race_detector.h"
#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

/// The argument `flags` of cudasim_hook_race_access; the site is in the lowest bits, as in a Record.
enum PlainFlags : std::uint32_t {
    plain_writes = 1U << 15,
    plain_volatile = 1U << 16,
    plain_barriers_only = 1U << 17,
    plain_is_decided = 1U << 18,
    plain_is_message = 1U << 19
};
inline constexpr unsigned plain_value_shift = 20;  ///< two bits: WrittenValue

/// Of cudasim_hook_race_atomic.
inline constexpr unsigned atomic_kind_shift = 15, atomic_scope_shift = 17, atomic_order_shift = 19;
inline constexpr std::uint32_t atomic_barriers_only = 1U << 22, atomic_is_flag = 1U << 23,
                               atomic_is_verified = 1U << 24, atomic_waits = 1U << 25;

[[nodiscard]] std::span<const jit::HookAddress> race_hooks();

}  // namespace cudasim::checks
