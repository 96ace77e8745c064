// What writes a launch that stands as a core file: whoever launches keeps the memory as it was before, and
// offers it for as long as the launch runs.
//
//   const CoreSource::OfThisThread offered(source);   // around the launch, on its thread
#pragma once

#include <string>
#include <vector>

#include "simulator/findings/finding.h"

namespace cudasim::debugger {

class CoreSource {
  public:
    virtual ~CoreSource() = default;
    /// @param errors that the launch has had until now
    /// @throws std::runtime_error that says why there is no file
    virtual void write(const std::string& path, const std::vector<findings::Finding>& errors) const = 0;
    /// Whether the launch is one of a record: what it comes to is known, and people want to see it.
    [[nodiscard]] virtual bool is_recorded() const { return false; }

    /// Of the program that launched it, innermost first; empty: it is this process's.
    [[nodiscard]] virtual std::vector<findings::SourceLocation> host_frames() const { return {}; }

    /// Of the launch that this host thread runs; null: nobody has kept its memory.
    [[nodiscard]] static const CoreSource* of_this_thread();

    /// Offers a source for its own lifetime.
    class OfThisThread {
      public:
        explicit OfThisThread(const CoreSource& source);
        ~OfThisThread();
        OfThisThread(const OfThisThread&) = delete;
        OfThisThread& operator=(const OfThisThread&) = delete;

      private:
        const CoreSource* before_;
    };
};

}  // namespace cudasim::debugger
