// Expressions of the kernel's language. Front ends implement it: Python's is
// frontend/bindings/debugger_bindings.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulator/execution/stop.h"

namespace cudasim::debugger {

struct Evaluation {
    bool ok = false;
    std::string text;  ///< of the value; what is wrong where it is not ok
    std::string type;
    bool truth = false;        ///< whether the value counts as true
    std::string truth_doubt;   ///< why that cannot be said; empty: it can
    bool interrupted = false;  ///< not ok, because of Evaluator::interrupt()
};

/// Called on the launching thread while the launch is stopped.
class Evaluator {
  public:
    virtual ~Evaluator() = default;
    /// @param frame index into launch.location(thread)
    virtual Evaluation evaluate(execution::StoppedLaunch& launch, execution::ThreadRef thread,
                                std::uint32_t frame, const std::string& expression) = 0;
    /// target = value, on the variables of the frame. The text is that of the target's new value.
    virtual Evaluation assign(execution::StoppedLaunch& launch, execution::ThreadRef thread,
                              std::uint32_t frame, const std::string& target, const std::string& value) = 0;
    /// What expressions know besides the frame's variables and the special registers: names and what they are
    /// in the protocol's words, "function", "module" or "value".
    virtual std::vector<std::pair<std::string, std::string>> names_around(
        execution::StoppedLaunch& /*launch*/, execution::ThreadRef /*thread*/, std::uint32_t /*frame*/) {
        return {};
    }
    /// Where the host program launches, innermost first.
    virtual std::vector<findings::SourceLocation> host_frames() = 0;
    /// Ends the evaluation that runs, where one does, as soon as that is possible. Any host thread calls it;
    /// it does not wait.
    virtual void interrupt() {}
};

}  // namespace cudasim::debugger
