// What the launches of a process share while somebody debugs it: breakpoints, whether errors stop, who is
// told, who evaluates. There is one session in a process; each launch has a Control of its own over it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debugger/control/breakpoints.h"
#include "debugger/control/conditions.h"
#include "debugger/control/evaluator.h"
#include "debugger/control/mailbox.h"
#include "debugger/control/watchpoints.h"
#include "simulator/execution/stop.h"
#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::debugger {

class Control;

enum class StopReason : std::uint8_t {
    breakpoint,
    function_breakpoint,
    step,
    pause,
    exception,
    entry,
    watch
};

/// Why a launch has stopped.
struct StopNotice {
    StopReason reason = StopReason::step;
    std::vector<std::int64_t> hit_breakpoints;  ///< and watches
    std::vector<WatchReport> writes;  ///< who wrote an element, newest first (Control::start_writes())
    std::uint64_t writes_in_all = 0;  ///< also those that are not in the list
    std::vector<WatchReport> watches;
    std::string description;                          ///< more than the reason says; may be empty
    std::string error_kind, error;                    ///< of an exception: the finding's kind and message
    std::vector<std::string> notes;                   ///< what else there is to tell
    std::optional<findings::VariableValue> returned;  ///< by the function that a step has left, with its name
    std::optional<execution::ThreadWait> wait;        ///< for whom a locked thread waits
};

[[nodiscard]] inline StopNotice notice_of(StopReason reason, std::string description = {}) {
    StopNotice notice;
    notice.reason = reason;
    notice.description = std::move(description);
    return notice;
}

/// Who is told what happens: the client, through a protocol. Called on launching threads, and on the
/// server's.
class Audience {
  public:
    virtual ~Audience() = default;
    virtual void launch_begins(const Control& control) = 0;
    virtual void launch_ends(const Control& control) = 0;
    virtual void stopped(Control& control, const StopNotice& notice) = 0;
    virtual void breakpoint_changed(const Breakpoint& breakpoint) = 0;
    /// A watch is over by itself. @param reason the rest of a sentence
    virtual void watch_removed(const Watchpoint& /*watchpoint*/, const std::string& /*reason*/) {}
    virtual void output(const std::string& line) = 0;
};

class Session {
  public:
    explicit Session(Audience& audience) : audience(audience) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Audience& audience;
    Breakpoints breakpoints;
    Watchpoints watchpoints;
    Mailbox mailbox;
    std::atomic<bool> errors_stop{true};  ///< of every kind; warnings are none
    /// Besides errors_stop: a bit for each findings::FindingKind.
    std::atomic<std::uint64_t> error_kinds{0};
    std::atomic<bool> stop_at_entry{false};  ///< the next launch stops at its first statement
    std::atomic<bool> calls_stop{true};      ///< calls of `breakpoint()` in the program
    std::atomic<bool> client_is_there{true};
    std::atomic<Evaluator*> evaluator{nullptr};
    std::atomic<ExpressionCompiler*> expression_compiler{nullptr};
    /// The debugger's own, for kernels of C++ and where there is no other. They live as long as the session.
    std::atomic<Evaluator*> own_evaluator{nullptr};
    std::atomic<ExpressionCompiler*> own_compiler{nullptr};
    Conditions conditions;
    /// What one launch may keep so that it can go back.
    std::atomic<std::uint64_t> history_bytes{std::uint64_t{1} << 30};
    /// Held by the launch that serves the client: launches of several host threads take turns.
    std::timed_mutex serving;

    /// Whether a finding of this kind stops the thread that it is about.
    [[nodiscard]] bool stops_for(findings::FindingKind kind) const {
        const bool is_error = findings::info(kind).severity == findings::Severity::error;
        return (errors_stop && is_error) || (error_kinds.load() >> static_cast<unsigned>(kind) & 1) != 0;
    }
    /// Whether any kind of warning does.
    [[nodiscard]] bool warnings_stop() const;
    /// Every launch stops at its next statement; if none runs, the next one at its first.
    void pause();
    /// Whether somebody asked for it since the last call.
    [[nodiscard]] bool take_pause() { return pause_.exchange(false); }
    [[nodiscard]] bool pause_is_wanted() const { return pause_.load(); }
    /// Running launches look at what has changed at their next statement.
    void tell_of_changes();
    /// A client is there. It knows nothing yet.
    void begin();
    /// The client is gone: nothing stops any more, and what is stopped goes on.
    void end();

    [[nodiscard]] std::shared_ptr<const KernelCode> code_of(
        const std::shared_ptr<const jit::CompiledKernel>& kernel);

    /// By the kernel's language; null where there is none.
    [[nodiscard]] Evaluator* evaluator_for(const execution::StoppedLaunch& launch) const;
    [[nodiscard]] ExpressionCompiler* compiler_for(const execution::StoppedLaunch& launch) const;
    /// Conditions of breakpoints that mean nothing in a kernel that is known are refused, if they were not
    /// before. @param stopped the launch that is stopped, on its thread; null: none is
    void refuse_conditions(Control* stopped);
    /// The evaluation that runs ends, where one does.
    void interrupt_evaluation();

    /// The same of a kernel that need not be compiled for stops.
    [[nodiscard]] std::shared_ptr<const KernelCode> source_code_of(const image::KernelImage& image,
                                                                   std::string_view kernel);

    // Texts that were compiled, by path.
    void keep_sources(const std::vector<image::SourceFile>& sources);
    [[nodiscard]] std::optional<std::string> source(const std::string& path) const;
    [[nodiscard]] std::vector<std::string> source_paths() const;
    /// Name and file of every kernel that has been launched, each once, in order of their files.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> kernels() const;
    [[nodiscard]] std::vector<std::uint32_t> lines_with_code(const std::string& path) const;

    // A Control's.
    void enter(Control& control);
    void leave(Control& control);
    [[nodiscard]] std::uint64_t next_launch_number() { return ++launches_; }

  private:
    using KernelWithCode =
        std::pair<std::shared_ptr<const jit::CompiledKernel>, std::shared_ptr<const KernelCode>>;
    [[nodiscard]] std::vector<std::shared_ptr<const KernelCode>> codes() const;
    [[nodiscard]] std::vector<KernelWithCode> kernels_with_code() const;
    [[nodiscard]] ExpressionCompiler* compiler_for(bool is_cplusplus) const;
    [[nodiscard]] std::string refusal_of(const Breakpoint& breakpoint, const KernelWithCode& known,
                                         Control* stopped);

    mutable std::mutex mutex_;
    std::vector<Control*> controls_;  ///< of launches that run
    std::map<const jit::CompiledKernel*,
             std::pair<std::weak_ptr<const jit::CompiledKernel>, std::shared_ptr<const KernelCode>>>
        codes_;
    std::map<std::string, std::string> sources_;
    /// By the image's hash and the kernel's name.
    std::map<std::pair<std::string, std::string>, std::shared_ptr<const KernelCode>> source_codes_;
    std::atomic<bool> pause_{false};
    std::atomic<std::uint64_t> launches_{0};
};

}  // namespace cudasim::debugger
