// A step backwards: the launch goes back to a checkpoint and runs again up to where it stood, and the last
// statement on the way that the user means is remembered. Then it runs again up to that one. Where there is
// none since the checkpoint, the same is done from the checkpoint before.
//
//   checkpoint A ────────── checkpoint B ──── x ──── x ──── now
//                           └── first pass: which x is the last? ──┘
//                           └── second pass: up to it ─────┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "debugger/control/session.h"
#include "simulator/execution/stop.h"

namespace cudasim::debugger {

enum class BackwardKind : std::uint8_t {
    step,    ///< to the thread's previous statement
    next,    ///< to its previous statement in this function, or in one that called it
    finish,  ///< to the statement that called this function
    writes,  ///< nowhere: who has written what is watched is listed
    go_on    ///< to the last statement at which a breakpoint stops a thread
};

/// Whether statements of one thread are looked for.
[[nodiscard]] constexpr bool is_of_thread(BackwardKind kind) {
    return kind != BackwardKind::go_on && kind != BackwardKind::writes;
}

/// Statements of one thread, as the launch comes by them again: which is the last one that is meant.
class BackwardSteps {
  public:
    /// @param depth functions that the thread is in now. @param stands it stands at its last statement, which
    ///     does not count
    BackwardSteps(BackwardKind kind, std::size_t depth, bool stands)
        : kind_(kind), depth_(depth), stood_(stands), stands_(stands) {}

    void pass(std::uint64_t count, std::size_t depth) noexcept {
        settle();
        last_ = {count, depth};
    }
    /// The pass is over. @return the statement's number, if there is one
    std::optional<std::uint64_t> end() {
        if (stands_ && last_) {
            last_.reset();
            stands_ = false;  // what passes from here on comes before it
        }
        settle();
        return found_;
    }

    /// The same is looked for again, in a pass that tells more statements.
    void begin_again() noexcept { *this = BackwardSteps(kind_, depth_, stood_); }

  private:
    struct Place {
        std::uint64_t count;
        std::size_t depth;
    };
    void settle() noexcept {
        if (last_ && is_meant(*last_)) found_ = last_->count;
        last_.reset();
    }
    [[nodiscard]] bool is_meant(const Place& place) const noexcept {
        switch (kind_) {
            case BackwardKind::next:
                return place.depth <= depth_;
            case BackwardKind::finish:
                return place.depth < depth_;
            default:
                return true;
        }
    }

    BackwardKind kind_;
    std::size_t depth_;
    bool stood_, stands_;  ///< when it was made, and now
    std::optional<Place> last_;
    std::optional<std::uint64_t> found_;
};

/// What goes on while the launch runs again.
struct Backward {
    BackwardKind kind = BackwardKind::step;
    execution::ThreadRef thread;
    std::uint64_t now = 0;    ///< the last statement that had begun
    std::uint64_t end = 0;    ///< the statement must come before this one
    std::uint64_t begin = 0;  ///< how many statements had begun where this pass began
    BackwardSteps steps;
    std::uint64_t followed_from = 0;  ///< in the first pass: of earlier statements nobody is told
    /// go_on: the last statement at which one stops, and what is told there; by the watch of something in a
    /// frame, which may yet turn out to be of another frame, and 0: by anything else.
    std::map<std::int64_t, std::pair<std::uint64_t, StopNotice>> found;
    std::optional<WatchTarget> target;  ///< writes
    std::deque<WatchReport> writes;     ///< the last ones
    std::uint64_t writes_in_all = 0;
    bool is_last_pass = false;    ///< the launch runs up to where it is to stop
    bool could_not_move = false;  ///< writes: no thread can go on where it was asked
    StopNotice notice;            ///< what is told then
};

}  // namespace cudasim::debugger
