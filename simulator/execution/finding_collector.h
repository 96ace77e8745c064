// Gathers what the workers of one launch find, merging equal findings (design.md section 5).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/findings/finding.h"

namespace cudasim::execution {

class FindingCollector {
  public:
    /// Thread-safe. Findings of one kind at one place are one finding with a count; the lowest thread's
    /// message, coordinates and object are kept.
    void add(findings::Finding finding);

    /// Threads that faulted so far.
    [[nodiscard]] std::uint64_t faults() const;

    /// Errors first, each group by (block, thread). Call once, when all workers are done.
    [[nodiscard]] std::vector<findings::Finding> take();

    using Key = std::pair<findings::FindingKind, std::string>;  // kind, place
    /// All that was found, for a launch that goes back to an earlier point.
    struct State {
        std::map<Key, findings::Finding> merged;
        std::uint64_t faults = 0;
    };
    [[nodiscard]] State state() const;
    void restore(State state);

  private:
    mutable std::mutex mutex_;
    State found_;
};

}  // namespace cudasim::execution
