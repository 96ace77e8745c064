// The functions that compiled code calls in the engine (hooks.def), as C symbols. simulator/execution
// implements them; engine-free tests of the compiler bring their own.
#pragma once

#include <cstdint>

#include "simulator/jit/abi.h"

namespace cudasim::jit {

#define CUDASIM_RETURNS_yes
#define CUDASIM_RETURNS_no [[noreturn]]
#define HOOK(identifier, result, returns, parameters) \
    extern "C" CUDASIM_RETURNS_##returns result cudasim_hook_##identifier parameters;
#include "simulator/jit/hooks.def"
#undef HOOK
#undef CUDASIM_RETURNS_yes
#undef CUDASIM_RETURNS_no

}  // namespace cudasim::jit
