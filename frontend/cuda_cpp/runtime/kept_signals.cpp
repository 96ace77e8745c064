// See kept_signals.h.
#include "frontend/cuda_cpp/runtime/kept_signals.h"

#include <csignal>
#include <memory>
#include <mutex>

#include "frontend/cuda_cpp/runtime/of_thread.h"
#include "simulator/execution/fault_signals.h"

namespace cudasim::cudart {
namespace {

using Action = void (*)(int, siginfo_t*, void*);

/// SIGSEGV's stands for all: programs that handle the others handle it, too.
Action current_action() {
    struct sigaction action{};
    sigaction(SIGSEGV, nullptr, &action);
    return action.sa_sigaction;
}

struct Kept {
    std::mutex mutex;
    std::unique_ptr<execution::FaultSignals> signals;
    Action action = nullptr;  ///< of the handlers that are kept
    bool given_up = false;
};

struct StackOfThread {
    execution::AlternateStack stack;
};

}  // namespace

void keep_signals_of_launches() {
    static Kept& kept = *new Kept;
    const std::lock_guard lock(kept.mutex);
    if (kept.given_up) return;
    (void)of_thread<StackOfThread>();
    if (kept.signals && current_action() == kept.action) return;
    if (kept.signals) {
        // The program has installed handlers of its own, which removing ours would remove.
        struct sigaction of_program{};
        sigaction(SIGSEGV, nullptr, &of_program);
        kept.signals.reset();
        sigaction(SIGSEGV, &of_program, nullptr);
        kept.given_up = true;
        return;
    }
    kept.signals = std::make_unique<execution::FaultSignals>();
    kept.action = current_action();
}

}  // namespace cudasim::cudart
