// See init_hooks.h.
#include "simulator/checks/init_hooks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "simulator/checks/init_observer.h"
#include "simulator/jit/abi.h"

namespace cudasim::checks {

namespace {

using jit::ThreadContext;

InitObserver::State* state_of(const ThreadContext* context) {
    return static_cast<InitObserver::State*>(
        static_cast<InitWindow*>(context->block->check_states[jit::init_state]));
}

extern "C" {

void cudasim_hook_init_used(ThreadContext* context, std::uint32_t use, std::uint32_t shuffle_line,
                            std::uint64_t address, std::uint64_t bytes, std::uint32_t site) {
    if (InitObserver::State* state = state_of(context))
        state->observer->used(jit::linear_index(*context->block), context->thread,
                              reinterpret_cast<std::uint64_t>(context->block->shared_base), site,
                              static_cast<ValueUse>(use), {address, bytes, shuffle_line});
}

/// A copy of any length. @param target_states, source_states where the states of a local array are; 0: the
/// address says it
void cudasim_hook_init_copy(ThreadContext* context, std::uint64_t target, std::uint64_t source,
                            std::uint64_t target_states, std::uint64_t source_states, std::uint64_t bytes,
                            std::uint32_t) {
    const InitObserver::State* state = state_of(context);
    if (state == nullptr) return;
    InitShadow& shadow = *state->shadow_of_window;
    auto* const to = reinterpret_cast<std::byte*>(target_states);
    const auto* const from = reinterpret_cast<const std::byte*>(source_states);
    if (to == nullptr && from == nullptr)
        shadow.copy(target, source, bytes);
    else if (to != nullptr && from != nullptr)
        std::memmove(to, from, bytes);
    else if (to == nullptr) {
        if (shadow.covers(target) && shadow.covers(target + bytes - 1))
            std::memcpy(shadow.states(target), from, bytes);
    } else if (shadow.covers(source) && shadow.covers(source + bytes - 1)) {
        std::memcpy(to, shadow.states(source), bytes);
    } else {
        std::fill_n(to, bytes, std::byte{0xFF});
    }
}

void cudasim_hook_init_fill(ThreadContext* context, std::uint64_t target, std::uint64_t bytes,
                            std::uint32_t) {
    if (const InitObserver::State* state = state_of(context))
        state->shadow_of_window->set_written(target, bytes);
}

}  // extern "C"

}  // namespace

std::span<const jit::HookAddress> init_hooks() {
    static const std::array hooks{
        jit::HookAddress{"cudasim_hook_init_used", reinterpret_cast<void*>(cudasim_hook_init_used)},
        jit::HookAddress{"cudasim_hook_init_copy", reinterpret_cast<void*>(cudasim_hook_init_copy)},
        jit::HookAddress{"cudasim_hook_init_fill", reinterpret_cast<void*>(cudasim_hook_init_fill)}};
    return hooks;
}

}  // namespace cudasim::checks
