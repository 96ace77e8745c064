// The functions that compiled code calls in the engine (hooks.def), as C symbols. Whoever runs kernels
// implements them and hands their addresses to the compiler: simulator/execution does, and engine-free tests
// of the compiler bring their own.
#pragma once

#include <array>
#include <cstdint>

#include "simulator/jit/abi.h"
#include "simulator/jit/instrumentation.h"

namespace cudasim::jit {

#define CUDASIM_RETURNS_yes
#define CUDASIM_RETURNS_no [[noreturn]]
#define HOOK(identifier, result, returns, parameters) \
    extern "C" CUDASIM_RETURNS_##returns result cudasim_hook_##identifier parameters;
#include "simulator/jit/hooks.def"
#undef HOOK
#undef CUDASIM_RETURNS_yes
#undef CUDASIM_RETURNS_no

/// The addresses of those that the caller's program defines.
inline std::span<const HookAddress> defined_hooks() {
    static const std::array hooks = {
#define HOOK(identifier, result, returns, parameters) \
    HookAddress{"cudasim_hook_" #identifier, reinterpret_cast<void*>(&cudasim_hook_##identifier)},
#include "simulator/jit/hooks.def"
#undef HOOK
    };
    return hooks;
}

}  // namespace cudasim::jit
