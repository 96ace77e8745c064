// Work on a large stack that has questions for the thread that waits for it, which is one of the host
// program's: what the program's own code answers is asked there.
#pragma once

#include <functional>

#include "simulator/image/large_stack.h"

namespace cudasim::image {

struct LargeStackTask;

class HostQuestions {
  public:
    /// @param task null: the work runs on the host's thread itself
    explicit HostQuestions(LargeStackTask* task) : task_(task) {}
    /// Calls `question` on the waiting thread and returns when it has returned, with what it threw.
    void ask(const std::function<void()>& question);

  private:
    LargeStackTask* task_;
};

/// As on_large_stack().
void on_asking_large_stack(const std::function<void(const Cancellation&, HostQuestions&)>& work,
                           const HostPoll& poll);

}  // namespace cudasim::image
