// The breakpoints of a session. They outlive launches: what is set before its kernel is launched is pending
// until then.
//
// Several threads of the host use the table: the server's sets breakpoints, those that launch look at them
// and count. All calls lock. A launch works on a copy (snapshot()) and comes back when version() has changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debugger/control/hit_condition.h"
#include "debugger/control/index_set.h"
#include "debugger/control/kernel_code.h"

namespace cudasim::debugger {

/// What a client asks for.
struct BreakpointRequest {
    std::string file;  ///< of a line breakpoint
    std::uint32_t line = 0;
    std::string function;   ///< of a function breakpoint; "*": every kernel
    std::string condition;  ///< an expression; empty: always
    std::optional<HitCondition> hits;
    std::string hits_text;
    std::string log_message;  ///< {expression} in it is evaluated; empty: it stops
    IndexSet threads, blocks;
    bool temporary = false;
    bool is_call = false;            ///< no client's: a call of `breakpoint()` in the program
    std::optional<std::int64_t> id;  ///< the client's number
    /// Where it differs from the one before: it has had so many hits at least. Nothing: other hit conditions
    /// begin anew.
    std::optional<std::uint64_t> counted;
    bool operator==(const BreakpointRequest&) const = default;
    /// Whether both ask for the same; `counted` is no part of that.
    [[nodiscard]] bool is_same(const BreakpointRequest& other) const;
};

struct Breakpoint {
    BreakpointRequest request;
    std::int64_t id = 0;
    bool verified = false;
    std::uint32_t line = 0;     ///< where it lies; the one asked for while it is pending
    std::string file;           ///< as debug information names it, when it is verified
    std::string message;        ///< what a user should know of it
    std::uint64_t hits = 0;     ///< of all threads that match
    bool failure_told = false;  ///< its condition could not be evaluated
    bool is_silent = false;     ///< a call of `breakpoint()` at which nothing stops
    bool refused = false;       ///< its condition is none: it never stops, and `message` says why
};

/// Calls of `breakpoint()` have these numbers. Clients give their own breakpoints lower ones.
inline constexpr std::int64_t first_call = 2'000'000'000;

class Breakpoints {
  public:
    /// All breakpoints of a file are now these. Those that stay the same keep their counts.
    std::vector<Breakpoint> set_lines(const std::string& file, std::vector<BreakpointRequest> requests);
    std::vector<Breakpoint> set_functions(std::vector<BreakpointRequest> requests);
    void clear();
    /// At these calls of `breakpoint()`, by file and line, nothing stops; at all others it does.
    void silence(const std::vector<std::pair<std::string, std::uint32_t>>& calls);
    /// Of one in a sentence: "breakpoint 3".
    [[nodiscard]] std::string name(std::int64_t id) const;

    /// A kernel is there: which pending breakpoints lie in it.
    /// @return those that have changed
    std::vector<Breakpoint> resolve(const std::shared_ptr<const KernelCode>& code);

    [[nodiscard]] std::vector<Breakpoint> snapshot() const;
    /// Rises with every change of what is set.
    [[nodiscard]] std::uint64_t version() const { return version_.load(); }

    /// One more thread that matches. The count; 0 when the breakpoint is gone.
    std::uint64_t count_hit(std::int64_t id);
    /// The first call for a breakpoint says true.
    bool tell_failure(std::int64_t id);
    /// Its condition means nothing where it lies. @return the breakpoint; nothing where it is gone
    std::optional<Breakpoint> refuse(std::int64_t id, const std::string& why);
    void remove(std::int64_t id);
    /// As they are now; those that are gone as they were.
    [[nodiscard]] std::vector<Breakpoint> renewed(std::vector<Breakpoint> breakpoints) const;

  private:
    static constexpr std::size_t most_known_kernels = 256;

    std::vector<Breakpoint> replace(bool functions, const std::string& file,
                                    std::vector<BreakpointRequest> requests);
    bool place(Breakpoint& breakpoint, const KernelCode& code) const;
    void add_calls(const KernelCode& code);
    Breakpoint* find(std::int64_t id);

    mutable std::mutex mutex_;
    std::vector<Breakpoint> all_;
    std::vector<std::shared_ptr<const KernelCode>> known_;          ///< kernels that were launched
    std::set<std::pair<std::string, std::uint32_t>> silent_calls_;  ///< files' normalised paths
    std::int64_t next_id_ = 1, next_call_ = first_call;
    std::atomic<std::uint64_t> version_{0};
};

}  // namespace cudasim::debugger
