// Handlers of signals for faults, each of which stands in front of the one that it found.
#pragma once

#include <signal.h>

namespace cudasim::memory {

using SignalHandler = void (*)(int signal, siginfo_t* info, void* context);

/// The action that calls `handler`, on the thread's alternate stack where it has one.
[[nodiscard]] struct sigaction action_of(SignalHandler handler);

/// Gives a fault to the handler that was there before. Where that is the default, it is installed again for
/// `signal`: the fault repeats and takes its course. To be called from a signal handler.
void pass_on(const struct sigaction& previous, int signal, siginfo_t* info, void* context);

}  // namespace cudasim::memory
