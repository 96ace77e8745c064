// The protocol's numbers for threads: one for the focus, one for each group of threads at the same place. A
// place keeps its number for as long as its launch runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "debugger/control/control.h"

namespace cudasim::debugger {

class ThreadIds {
  public:
    static constexpr std::int64_t focus = 1;
    /// What clients are shown as threads.
    static constexpr std::size_t most_shown = 64;

    struct Group {
        std::int64_t id = 0;
        ThreadGroup threads;
        bool has_focus = false;
    };
    [[nodiscard]] std::vector<Group> groups(const Control& control);

    /// The thread that a number stands for: the first of its group. @throws RequestError
    [[nodiscard]] execution::ThreadRef thread(const Control& control, std::int64_t id);

  private:
    using Place = std::tuple<execution::ThreadState, std::string, std::uint32_t>;
    std::map<Place, std::int64_t> ids_;
    std::uint64_t launch_ = 0;  ///< that they are of
};

/// "block(0,0,0) thread(10,0,0)"
[[nodiscard]] std::string name_of_thread(const Control& control, execution::ThreadRef thread);
/// "b(0..191) t(32..127) x24544 conv.py:37"
[[nodiscard]] std::string name_of_group(const ThreadGroup& group);

}  // namespace cudasim::debugger
