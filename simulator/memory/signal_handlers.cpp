// See signal_handlers.h.
#include "simulator/memory/signal_handlers.h"

namespace cudasim::memory {

struct sigaction action_of(SignalHandler handler) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return action;
}

void pass_on(const struct sigaction& previous, int signal, siginfo_t* info, void* context) {
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
        sigaction(signal, &previous, nullptr);
    } else {
        previous.sa_handler(signal);
    }
}

}  // namespace cudasim::memory
