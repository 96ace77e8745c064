// See page_watch.h.
#include "simulator/streams/page_watch.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "simulator/memory/signal_handlers.h"

namespace cudasim::streams::page_watch {

namespace {

enum class State : std::uint8_t { unused, open, protected_, touched };

struct Watch {
    std::atomic<std::uintptr_t> first{0}, last{0};  ///< pages: [first, last)
    std::atomic<std::uintptr_t> from{0}, to{0};     ///< what is watched in them
    std::atomic<int> protection{PROT_NONE};
    std::atomic<State> state{State::unused};
    std::atomic<std::uintptr_t> touched_at{0};
};

/// More than programs have pinned arrays in flight; a table of its own size, because a signal handler reads
/// it.
std::array<Watch, 256> watches;
std::mutex mutex;           ///< of everybody but the signal handler
std::atomic<int> begun{0};  ///< watches in use; changed with the lock
struct sigaction previous{};
std::atomic<void (*)(int)> touch_function{nullptr};
std::atomic<pid_t> passes_on{0};  ///< the thread whose fault is with the previous handler

/// What the pages of a watch get: nothing, too, where reads of some of them are watched by another one.
int protection_of(const Watch& watch) {
    const bool reads_are_watched = std::ranges::any_of(watches, [&](const Watch& other) {
        const State state = other.state.load();
        return (state == State::open || state == State::protected_) && other.protection.load() == PROT_NONE &&
               other.first.load() < watch.last.load() && other.last.load() > watch.first.load();
    });
    return reads_are_watched ? PROT_NONE : PROT_READ;
}

void set_protection(const Watch& watch, int protection) {
    const auto first = watch.first.load();
    mprotect(reinterpret_cast<void*>(first), watch.last.load() - first, protection);
}

/// Whether the fault was an access to watched memory, or to memory that another thread has opened meanwhile.
bool is_ours(std::uintptr_t address) {
    bool ours = false;
    // Where reads are watched as well as writes it may have been a read, which says nothing of the latter.
    const bool may_be_read = std::ranges::any_of(watches, [&](const Watch& watch) {
        return watch.state.load() == State::protected_ && watch.protection.load() == PROT_NONE &&
               address >= watch.from.load() && address < watch.to.load();
    });
    for (std::size_t i = 0; i < watches.size(); ++i) {
        Watch& watch = watches[i];
        if (address < watch.first.load() || address >= watch.last.load()) continue;
        const State state = watch.state.load();
        if (state == State::unused) continue;
        ours = true;
        const bool touched = address >= watch.from.load() && address < watch.to.load() &&
                             (!may_be_read || watch.protection.load() == PROT_NONE);
        auto expected = State::protected_;
        if (!watch.state.compare_exchange_strong(expected, touched ? State::touched : State::open)) continue;
        set_protection(watch, PROT_READ | PROT_WRITE);
        if (!touched) continue;
        watch.touched_at.store(address);
        if (auto* const function = touch_function.load()) function(static_cast<int>(i));
    }
    return ours;
}

void handle(int signal, siginfo_t* info, void* context) {
    if (info->si_code == SEGV_ACCERR && is_ours(reinterpret_cast<std::uintptr_t>(info->si_addr))) return;
    // Who was put over this handler passes on to it, and may be the one that it passes on to.
    const auto self = static_cast<pid_t>(syscall(SYS_gettid));
    if (passes_on.load() == self) {
        struct sigaction by_default{};
        by_default.sa_handler = SIG_DFL;
        sigaction(signal, &by_default, nullptr);
        return;
    }
    passes_on.store(self);
    memory::pass_on(previous, signal, info, context);
    passes_on.store(0);
}

/// Puts our handler in front of all others, also of those installed since the last call: faulthandler would
/// report a crash.
void install_handler() {
    struct sigaction now{};
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle) return;
    previous = now;
    const struct sigaction ours = memory::action_of(handle);
    sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace

int begin(std::uintptr_t address, std::size_t bytes, Access access, bool own_pages) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto down = [page](std::uintptr_t value) { return value / page * page; };
    const auto up = [page](std::uintptr_t value) { return (value + page - 1) / page * page; };
    const std::uintptr_t first = own_pages ? down(address) : up(address);
    const std::uintptr_t last = own_pages ? up(address + bytes) : down(address + bytes);
    if (first >= last) return -1;
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < watches.size(); ++i) {
        Watch& watch = watches[i];
        if (watch.state.load() != State::unused) continue;
        watch.first.store(first);
        watch.last.store(last);
        watch.from.store(address);
        watch.to.store(address + bytes);
        watch.protection.store(access == Access::any ? PROT_NONE : PROT_READ);
        watch.touched_at.store(0);
        watch.state.store(State::open);
        begun.fetch_add(1);
        return static_cast<int>(i);
    }
    return -1;
}

bool end(int watch) {
    if (watch < 0) return false;
    const std::lock_guard lock(mutex);
    Watch& ended = watches[static_cast<std::size_t>(watch)];
    const State state = ended.state.exchange(State::open);
    if (state == State::protected_) set_protection(ended, PROT_READ | PROT_WRITE);
    ended.state.store(State::unused);
    begun.fetch_sub(1);
    return state == State::touched;
}

std::uintptr_t touched_at(int watch) {
    return watch < 0 ? 0 : watches[static_cast<std::size_t>(watch)].touched_at.load();
}

void go_on(int watch) {
    if (watch < 0) return;
    const std::lock_guard lock(mutex);
    auto expected = State::touched;
    watches[static_cast<std::size_t>(watch)].state.compare_exchange_strong(expected, State::open);
}

void open_all() {
    if (begun.load() == 0) return;
    const std::lock_guard lock(mutex);
    for (Watch& watch : watches) {
        auto expected = State::protected_;
        // Open before it is said to be: a thread that faults in between tries again, and succeeds.
        if (watch.state.load() != expected) continue;
        set_protection(watch, PROT_READ | PROT_WRITE);
        watch.state.compare_exchange_strong(expected, State::open);
    }
}

void protect_all() {
    if (begun.load() == 0) return;
    const std::lock_guard lock(mutex);
    install_handler();
    for (Watch& watch : watches) {
        auto expected = State::open;
        if (!watch.state.compare_exchange_strong(expected, State::protected_)) continue;
        set_protection(watch, protection_of(watch));
    }
}

void on_touch(void (*function)(int watch)) {
    touch_function.store(function);
}

}  // namespace cudasim::streams::page_watch
