// One launch under the debugger: where it stops, who moves, whom the user looks at.
//
//   stopped(), faulted(), ...  ── nothing to tell: the thread goes on
//            │ a breakpoint's condition holds, a step is done, an error, a pause
//            ▼
//   serve(): tells the audience, then does what comes through the session's mailbox, on the launching thread,
//            until somebody says how to go on
//            ├── go_on(): the handler returns, and the policy's order goes on
//            └── start(Movement): the focus moves, all others hold. Where it must wait, the handler returns
//            with the thread armed;
//                it is told of again when the thread has passed (pending_).
//
// What a launch with stops may do and what holds meanwhile: simulator/execution/stop.h.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debugger/control/backward.h"
#include "debugger/control/conditions.h"
#include "debugger/control/core_source.h"
#include "debugger/control/movement.h"
#include "debugger/control/session.h"
#include "debugger/control/thread_groups.h"
#include "simulator/execution/stop.h"

namespace cudasim::debugger {

class Control final : public execution::StopHandler {
  public:
    /// @param session outlives it
    explicit Control(Session& session) : session_(session) {}
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;
    ~Control() override { launch_ends(); }

    [[nodiscard]] bool needs_stops(const execution::KernelToStop& kernel) override;
    [[nodiscard]] bool begins_again_for(const findings::Finding& failure) override;
    void has_code_with_stops(execution::StoppedLaunch& launch) override;
    void launch_begins(execution::StoppedLaunch& launch) override;
    void launch_ends() override;
    void stopped(execution::StoppedLaunch& launch) override;
    [[nodiscard]] bool wants(const jit::BlockContext& block, std::uint32_t thread,
                             std::uint32_t site) noexcept override;
    [[nodiscard]] bool wants_hits(const jit::BlockContext& block, std::uint32_t thread,
                                  std::span<const execution::WatchHit> hits) noexcept override;
    [[nodiscard]] bool wants_warning(const jit::BlockContext& block, std::uint32_t thread,
                                     findings::FindingKind kind, std::uint32_t site) noexcept override;
    void passes(std::uint64_t count, std::uint32_t site, std::size_t depth) noexcept override;
    void faulted(execution::StoppedLaunch& launch) override;
    void ended(execution::StoppedLaunch& launch) override;
    void reports(execution::StoppedLaunch& launch, const findings::Finding& finding) override;
    void ends_early(execution::StoppedLaunch& launch, const findings::Finding& reason) override;

    /// Breakpoints have changed, or a pause is wanted: the launch looks at its next statement. Any host
    /// thread calls it.
    void look_soon();

    // For jobs of the mailbox: on the launching thread, while the launch is stopped
    // ---------------------------

    [[nodiscard]] execution::StoppedLaunch& launch() const { return *launch_; }
    [[nodiscard]] Session& session() const { return session_; }
    [[nodiscard]] const KernelCode& code() const { return *code_; }
    [[nodiscard]] const std::string& kernel() const { return code_->name(); }
    /// What the kernel was compiled of; null: nobody has said.
    [[nodiscard]] const image::KernelImage* image() const { return image_ ? &*image_ : nullptr; }
    /// Counted in the process, from 1.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] const execution::LaunchConfiguration& configuration() const {
        return launch_->launch().configuration;
    }
    /// What the launch's first error says; empty: it has had none.
    [[nodiscard]] const std::string& error() const { return error_; }
    /// Rises each time the launch stops: what was known of threads then is out of date.
    [[nodiscard]] std::uint64_t stop_number() const { return stop_number_; }

    [[nodiscard]] execution::ThreadRef focus() const { return focus_; }
    /// A thread of any block that is not over, also of one that has not begun.
    /// @return what is wrong; empty: it is the focus now
    [[nodiscard]] std::string set_focus(execution::ThreadRef thread);
    [[nodiscard]] std::vector<ThreadGroup> groups() const { return thread_groups(*launch_, *code_); }
    /// What writes it as a core file; null: its memory was not kept.
    [[nodiscard]] const CoreSource* core_source() const { return core_source_; }
    /// Why it is stopped, and which thread was told.
    [[nodiscard]] const StopNotice& notice() const { return notice_; }
    [[nodiscard]] execution::ThreadRef notice_thread() const { return notice_thread_; }

    void go_on() { goes_on_ = true; }
    /// @return what is wrong; empty: it moves as soon as the job returns
    [[nodiscard]] std::string start(Movement movement);
    /// The same, backwards. @param thread whose statements are meant; of `go_on` the focus
    [[nodiscard]] std::string start_backward(BackwardKind kind, execution::ThreadRef thread);
    /// The launch runs again from its beginning up to where it stands, and the stop that follows says who
    /// wrote there. @param data_id of memory (Watchpoints::name())
    [[nodiscard]] std::string start_writes(const std::string& data_id);
    /// Why a watch cannot have the condition; empty: it can.
    [[nodiscard]] std::string refusal_of_watch(const std::string& condition) const;
    /// What an expression that the kernel's language refuses comes to in the focus, where the condition is
    /// for its function: what is wrong, if that is the expression itself and no value.
    [[nodiscard]] std::string contradiction_of(const Condition& condition,
                                               const std::string& expression) const;

  private:
    /// A breakpoint in this kernel.
    struct Armed {
        Breakpoint breakpoint;
        LinearRanges threads, blocks;
        bool all_threads = false, all_blocks = false;
        std::shared_ptr<const Condition> condition;  ///< null: there is none, or nobody compiles it
        /// Where there is a condition.
        [[nodiscard]] bool may_hold(const jit::BlockContext& block, std::uint32_t thread) const noexcept;
    };
    /// A watch in this launch.
    struct Watched {
        Watchpoint watchpoint;
        LinearRanges threads, blocks;
        std::shared_ptr<const Condition> condition;  ///< null: as of Armed
    };
    enum class Outcome : std::uint8_t { stopped, waits, over };

    // control.cpp
    void look(execution::StoppedLaunch& launch);
    void arm(execution::StoppedLaunch& launch);
    void find_only_conditions();
    [[nodiscard]] bool may_want(const jit::BlockContext& block, std::uint32_t thread,
                                std::uint32_t site) const noexcept;
    [[nodiscard]] std::vector<const KernelCode::Line*> places_of(const Breakpoint& breakpoint) const;
    [[nodiscard]] bool compile_condition(Armed& armed, const std::vector<const KernelCode::Line*>& places);
    [[nodiscard]] bool matches(const Armed& armed, execution::ThreadRef thread) const;
    [[nodiscard]] ConditionResult result_of(const Condition* condition, const std::string& text,
                                            execution::ThreadRef thread) const;
    [[nodiscard]] bool condition_holds(Armed& armed, execution::ThreadRef thread, StopNotice& notice);
    [[nodiscard]] bool hit(Armed& armed, execution::ThreadRef thread, StopNotice& notice);
    [[nodiscard]] bool any_hit(execution::ThreadRef thread, StopNotice& notice);
    [[nodiscard]] std::string log_line(const std::string& message, execution::ThreadRef thread);
    void stop_for_all(execution::ThreadRef thread, StopNotice notice);
    void serve(StopNotice notice);
    [[nodiscard]] bool wait_for_turn();
    void wait_for_request();
    [[nodiscard]] static std::string error_text(const findings::Finding& finding);
    void note_error(const findings::Finding& finding, StopNotice& notice);
    [[nodiscard]] bool is_warned(StopNotice& notice);
    static void note_warning(const findings::Finding& finding, StopNotice& notice);
    [[nodiscard]] bool stops_for(const findings::Finding& finding) const;
    [[nodiscard]] static std::string place_text(const findings::Finding& finding);

    // usual_code.cpp
    [[nodiscard]] bool may_stop() const;
    void compare_with_usual_code(const findings::Finding& failure, StopNotice& notice);
    void note_pause_of_usual_code(StopNotice& notice);
    void tell_of_lost_failure();

    // watching.cpp
    void arm_watches(execution::StoppedLaunch& launch);
    [[nodiscard]] std::shared_ptr<const Condition> watch_condition(const std::string& text) const;
    [[nodiscard]] Watched* watched(std::uint64_t id);
    [[nodiscard]] std::uint32_t frame_of(const execution::WatchHit& hit) const;
    [[nodiscard]] bool condition_holds(const Watched& watched, const execution::WatchHit& hit,
                                       StopNotice& notice);
    [[nodiscard]] WatchReport report_of(const Watchpoint& watchpoint, const execution::WatchHit& hit) const;
    [[nodiscard]] bool would_stop_for_watch(StopNotice& notice);
    [[nodiscard]] bool counts(const Watched& watched, const execution::WatchHit& hit, StopNotice& notice);
    [[nodiscard]] bool any_watch_hit(StopNotice& notice);
    void forget_watches();

    // movement.cpp
    [[nodiscard]] Outcome perform(Movement& movement, StopNotice& notice);
    [[nodiscard]] Outcome advance(Movement& movement, StopNotice& notice);
    [[nodiscard]] Outcome let_block_help(Movement& movement, StopNotice& notice);
    [[nodiscard]] std::vector<Movement> those_it_waits_for(const Movement& movement) const;
    [[nodiscard]] bool is_interrupted();
    void say_for_whom(const Movement& movement, StopNotice& notice) const;
    [[nodiscard]] bool is_done(const Movement& movement) const;
    [[nodiscard]] std::vector<Movement> companions(const Movement& movement) const;
    [[nodiscard]] Outcome move_companions(std::vector<Movement>& companions, StopNotice& notice, bool& moved);
    void remember_passing(const StopNotice& notice);
    void come_back_later(const Movement& movement);

    // backward.cpp
    void go_back();
    void run_up_to(std::uint64_t count);
    /// Behind a watched access, which the breakpoint of a watch is told of: that is where `go_on` goes to.
    [[nodiscard]] bool is_behind_watched_access();
    void stopped_backward(execution::StoppedLaunch& launch);
    void note_found(bool by_breakpoint, StopNotice notice);
    [[nodiscard]] std::optional<std::uint64_t> last_found();
    void note_writes();
    void end_writes();
    [[nodiscard]] bool would_stop(execution::ThreadRef thread, StopNotice& notice);

    Session& session_;
    execution::StoppedLaunch* launch_ = nullptr;  ///< while it runs
    std::shared_ptr<const KernelCode> code_;
    mutable std::mutex code_mutex_;  ///< while it is replaced: other host threads read it in may_stop()
    std::uint64_t number_ = 0, stop_number_ = 0;
    std::vector<Armed> armed_;
    std::vector<std::vector<std::uint32_t>> armed_at_;  ///< by site: indices into armed_
    /// By site: where one breakpoint lies there, for all threads, the condition that nearly all of them fail.
    std::vector<Condition::Place> only_conditions_;
    std::set<std::pair<std::string, std::uint32_t>> armed_lines_;
    std::vector<Watched> watched_;
    std::uint64_t watch_version_ = 0;  ///< of the table that watched_ is a copy of
    std::atomic<bool> look_{false};
    const CoreSource* core_source_ = nullptr;
    std::optional<image::KernelImage> image_;
    bool at_entry_ = false;  ///< its first statement stops
    // Of a launch that began in usual code.
    std::vector<Breakpoint> found_;             ///< that lie in the kernel, which was not known before
    std::optional<findings::Finding> failure_;  ///< for which it has begun again, until that is told
    bool paused_usual_code_ = false;            ///< it has begun again so that it can pause

    execution::ThreadRef focus_;
    std::chrono::steady_clock::time_point polled_;
    StopNotice notice_;
    execution::ThreadRef notice_thread_;
    bool goes_on_ = false;
    bool cannot_move_ = false;  ///< the block, or the launch, ends after this stop
    std::optional<Movement> request_;
    std::optional<Backward> backward_;  ///< while the launch goes back
    std::string no_history_;            ///< why it cannot
    std::optional<Movement> pending_;   ///< its thread waits, or others are to go first
    std::map<std::int64_t, std::uint64_t>
        passed_;  ///< by breakpoint: how many other threads, since the last stop
    std::set<std::pair<findings::FindingKind, std::string>> told_errors_;
    std::vector<std::uint8_t> told_warnings_;  ///< by site: 1
    std::string error_;
};

}  // namespace cudasim::debugger
