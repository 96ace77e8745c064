// Who works in the engine, and what fork() makes of it.
#include "frontend/bindings/released_gil.h"

#include <pthread.h>

#include <atomic>

namespace cudasim::bindings {
namespace {

std::atomic<int> in_engine{0};
std::atomic<bool> locks_are_lost{false};
thread_local int own_calls = 0;  ///< more than one when a signal handler calls the engine during a launch

void in_child() {
    if (in_engine.load() != own_calls) locks_are_lost.store(true);
    in_engine.store(own_calls);
}

}  // namespace

void enter_engine() {
    static const bool registered = pthread_atfork(nullptr, nullptr, in_child) == 0;
    (void)registered;
    if (locks_are_lost.load(std::memory_order_relaxed)) throw ForkedInUse{};
    in_engine.fetch_add(1);
    ++own_calls;
}

void leave_engine() noexcept {
    --own_calls;
    in_engine.fetch_sub(1);
}

bool forked_in_use() noexcept {
    return locks_are_lost.load(std::memory_order_relaxed);
}

}  // namespace cudasim::bindings
