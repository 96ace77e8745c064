// The watches of a session: what is watched, by a name (data id) that stays valid, and which of it stops the
// program now. As with breakpoints, several threads of the host use the table, all calls lock, and launches
// work on copies.
//
//   target     found once, while a launch is stopped: memory or a variable, and how its values are written
//   watchpoint a target, with what stops: reads, changes or all accesses, by which threads, when, how often
//
// Targets in global memory outlive their launch. What lies in shared or local memory, and variables, are
// removed with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debugger/control/hit_condition.h"
#include "debugger/control/index_set.h"
#include "simulator/execution/stop.h"

namespace cudasim::debugger {

/// What a user is told of one hit.
struct WatchTexts {
    std::string element;  ///< of an array or slice: the element that was accessed; else empty
    std::string old_value, new_value;
};

struct WatchTarget {
    std::string expression;
    bool is_variable = false;  ///< else it is memory
    execution::WatchedSpace space = execution::WatchedSpace::global;
    std::vector<execution::WatchedRange> ranges;  ///< of memory
    std::optional<std::uint64_t> block;           ///< shared memory: whose it is
    std::optional<execution::FrameRef> frame;     ///< of variables and local memory
    std::string variable;
    std::uint64_t offset = 0, bytes = 0;  ///< of the variable's part; 0 bytes: all of it
    std::uint64_t launch = 0;             ///< that it belongs to; 0: to none
    /// On the launching thread, right after the stop.
    std::function<WatchTexts(const execution::StoppedLaunch&, const execution::WatchHit&)> describe;

    /// Whether both are the same place. An expression may name different ones.
    [[nodiscard]] bool is_same(const WatchTarget& other) const;
};

enum class WatchAccess : std::uint8_t { write, read, read_write };

/// What a client asks for.
struct WatchpointRequest {
    std::string data_id;
    WatchAccess access = WatchAccess::write;  ///< write: changes only
    std::string condition;                    ///< an expression; empty: always
    std::optional<HitCondition> hits;
    std::string hits_text;
    IndexSet threads, blocks;
    bool all_blocks =
        false;  ///< of shared memory: that of every block in `blocks`, not the target's own only
    bool temporary = false;
    std::optional<std::int64_t> id;  ///< the client's number
    /// Where it differs from the one before: it has had so many hits at least. Nothing: other hit conditions
    /// begin anew.
    std::optional<std::uint64_t> counted;
    bool operator==(const WatchpointRequest&) const = default;
    /// Whether both ask for the same; `counted` is no part of that.
    [[nodiscard]] bool is_same(const WatchpointRequest& other) const;
};

struct Watchpoint {
    WatchpointRequest request;
    std::int64_t id = 0;
    WatchTarget target;
    std::uint64_t hits = 0;
    bool failure_told = false;  ///< its condition could not be evaluated
};

/// What a launch has stopped for.
struct WatchReport {
    std::int64_t id = 0;
    std::string expression;
    WatchAccess access = WatchAccess::write;  ///< of the watch
    execution::WatchHit hit;
    WatchTexts texts;
    findings::SourceLocation place;  ///< of the access, or of the statement that assigned the variable
    bool is_over = false;            ///< the function, or thread, that had it has ended
};

class Watchpoints {
  public:
    /// The data id of the target: that of an earlier one where they are the same place.
    std::string name(WatchTarget target);
    [[nodiscard]] std::optional<WatchTarget> target(const std::string& data_id) const;

    /// All watches are now these. Those that stay the same keep their numbers and counts. Of an unknown data
    /// id there is nothing in its place.
    std::vector<std::optional<Watchpoint>> set(std::vector<WatchpointRequest> requests);
    void clear();

    [[nodiscard]] std::vector<Watchpoint> snapshot() const;
    /// Rises with every change of what is set.
    [[nodiscard]] std::uint64_t version() const { return version_.load(); }
    /// One more hit. The count; 0 when the watch is gone.
    std::uint64_t count_hit(std::int64_t id);
    /// The first call for a watch says true.
    bool tell_failure(std::int64_t id);
    void remove(std::int64_t id);
    /// Those of a launch that is over. @return what was removed
    std::vector<Watchpoint> remove_of_launch(std::uint64_t launch);

  private:
    static constexpr std::size_t most_names = 65536;

    Watchpoint* find(std::int64_t id);

    mutable std::mutex mutex_;
    std::vector<WatchTarget>
        targets_;  ///< by data id; without `describe` and ranges when their launch is over
    std::vector<Watchpoint> all_;
    std::int64_t next_id_ = 4'000'000;  ///< apart from numbers of breakpoints
    std::atomic<std::uint64_t> version_{0};
};

}  // namespace cudasim::debugger
