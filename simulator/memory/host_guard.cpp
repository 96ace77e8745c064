// See host_guard.h.
#include "simulator/memory/host_guard.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

namespace cudasim::memory::host_guard {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// The allowance: what may be spent on protection at once, and for each second of the process. Where work
// follows work, the half that synchronisation may need is left.
constexpr nanoseconds at_once = std::chrono::milliseconds(4);
constexpr int part_of_time = 50;
/// Pages that were protected cost their next users about as much again.
constexpr int consequences = 2;

/// Bases and sizes of arenas, for signal handlers.
struct Range {
    std::atomic<std::uint64_t> base{0}, bytes{0};
};
std::array<Range, 64> arenas;

struct State {
    std::mutex mutex;                               ///< of changes of the protection, and of what follows
    std::map<std::uint64_t, std::uint64_t> shared;  ///< address → bytes
    bool closed = false;
    Clock::time_point began;
    nanoseconds spent{0}, last{0};
};

State& state() {
    static State& only = *new State;  // used until the end of the process
    return only;
}

std::atomic<bool> started{false};
std::atomic<bool> closed{false};  // State::closed, without the lock
std::atomic<int> users{0};

void protect(std::uint64_t first, std::uint64_t last, int protection) {
    if (first < last) (void)mprotect(reinterpret_cast<void*>(first), last - first, protection);
}

void set_protection(State& now, int protection) {
    for (const Range& arena : arenas) {
        std::uint64_t at = arena.base.load();
        if (at == 0) continue;
        const std::uint64_t end = at + arena.bytes.load();
        for (auto it = now.shared.lower_bound(at); it != now.shared.end() && it->first < end; ++it) {
            protect(at, it->first, protection);
            at = it->first + it->second;
        }
        protect(at, end, protection);
    }
}

void open_locked(State& now) {
    if (!now.closed) return;
    const auto before = Clock::now();
    set_protection(now, PROT_READ | PROT_WRITE);
    now.closed = false;
    closed = false;
    const nanoseconds took = Clock::now() - before;
    now.spent += took;
    now.last += took;
}

void close_locked(State& now, bool all_of_allowance) {
    if (now.closed || users.load() != 0 || !started.load()) return;
    const auto before = Clock::now();
    const nanoseconds allowance =
        (at_once + (before - now.began) / part_of_time) / (all_of_allowance ? 1 : 2);
    if ((now.spent + now.last) * consequences > allowance) return;
    closed = true;
    if (users.load() != 0) {
        closed = false;
        return;
    }
    set_protection(now, PROT_NONE);
    now.closed = true;
    now.last = Clock::now() - before;
    now.spent += now.last;
}

}  // namespace

void start() {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    now.began = Clock::now();
    started = true;
}

bool is_started() noexcept {
    return started.load(std::memory_order_relaxed);
}

void stop() noexcept {
    started = false;
    // Without the lock, which the thread that a signal interrupts may have.
    set_protection(state(), PROT_READ | PROT_WRITE);
    closed = false;
}

void enter() noexcept {
    if (!is_started()) return;
    users.fetch_add(1);
    // Who closes the memory says so before he looks for users, so that one of the two sees the other.
    if (!closed.load()) return;
    const std::lock_guard lock(state().mutex);
    open_locked(state());
}

void leave() noexcept {
    if (users.load() == 0 || users.fetch_sub(1) != 1) return;
    const std::lock_guard lock(state().mutex);
    close_locked(state(), false);
}

void host_goes_on() noexcept {
    if (!is_started() || closed.load() || users.load() != 0) return;
    const std::lock_guard lock(state().mutex);
    close_locked(state(), true);
}

void arena_made(std::uint64_t base, std::uint64_t bytes) {
    const std::lock_guard lock(state().mutex);
    for (Range& arena : arenas) {
        if (arena.base.load() != 0) continue;
        arena.bytes = bytes;
        arena.base = base;
        return;
    }
}

void arena_gone(std::uint64_t base) {
    const std::lock_guard lock(state().mutex);
    for (Range& arena : arenas) {
        if (arena.base.load() != base) continue;
        auto& shared = state().shared;
        shared.erase(shared.lower_bound(base), shared.lower_bound(base + arena.bytes.load()));
        arena.base = 0;
        return;
    }
}

void shared_with_host(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(state().mutex);
    state().shared[address] = bytes;
}

void no_longer_shared(std::uint64_t address) {
    const std::lock_guard lock(state().mutex);
    state().shared.erase(address);
}

bool protects(std::uint64_t address) noexcept {
    if (!is_started()) return false;
    for (const Range& arena : arenas) {
        const std::uint64_t base = arena.base.load();
        if (base != 0 && address >= base && address - base < arena.bytes.load()) return true;
    }
    return false;
}

bool is_open() noexcept {
    return !closed.load();
}

}  // namespace cudasim::memory::host_guard
