// Processor faults inside compiled kernels become findings; all others go where they went before (E11).
//
// A fallback: checks catch nearly everything first. The handler runs on an alternate stack, looks whether the
// program counter lies in the kernel's code, and if so edits the interrupted registers so that the thread
// continues in a routine that suspends its fiber for good. Nothing is unwound, nothing jumps out of the
// handler.
#pragma once

namespace cudasim::execution {

/// Held for the duration of a launch: installs the handlers at the first launch in the process, restores
/// what was there at the end of the last.
class FaultSignals {
  public:
    FaultSignals();
    ~FaultSignals();
    FaultSignals(const FaultSignals&) = delete;
    FaultSignals& operator=(const FaultSignals&) = delete;
};

/// Held by each host thread while it runs a launch: an alternate signal stack, unless the thread has one.
class AlternateStack {
  public:
    /// @throws std::bad_alloc
    AlternateStack();
    ~AlternateStack();
    AlternateStack(const AlternateStack&) = delete;
    AlternateStack& operator=(const AlternateStack&) = delete;

  private:
    bool installed_ = false;
};

}  // namespace cudasim::execution
