// The server's side of the Debug Adapter Protocol, over a session. docs/debug_protocol.md describes the
// messages.
//
//   receive(message) ── on the server's thread ──┬─► what needs no stopped launch is done at once
//                                                └─► the rest is a job for the launch that is stopped
//                                                (Session::mailbox)
//   Audience's calls ── on launching threads ──────► events
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "debugger/control/session.h"
#include "debugger/dap/inspection.h"
#include "debugger/dap/message.h"
#include "debugger/dap/thread_ids.h"
#include "debugger/expressions/cpp_evaluator.h"

namespace cudasim::debugger {

struct Row;

/// What a server of the protocol is, besides a part of a program that runs.
struct Service {
    bool starts_program = false;  ///< the request `launch` is the same as `attach`
    std::string token;            ///< that `launch` or `attach` has to give before anything else; empty: none
    std::function<void()> terminate;  ///< for the request; empty: the process gets SIGTERM
};

class Adapter final : public Audience {
  public:
    /// @param send sends one message, from any thread
    explicit Adapter(std::function<void(const std::string&)> send) : session_(*this), send_(std::move(send)) {
        session_.own_evaluator.store(&evaluator_);
        session_.own_compiler.store(&compiler_);
    }

    [[nodiscard]] Session& session() { return session_; }
    /// A client is there, the first one or another.
    void begin();
    /// What the client is told of the program. @param start_method "launch" or "attach"
    void set_program(std::string name, std::string start_method);
    /// Before the first message.
    void serve_as(Service service) { service_ = std::move(service); }
    /// Whether the client has given the token, or needs none.
    [[nodiscard]] bool is_trusted() const { return trusted_.load() || service_.token.empty(); }
    /// What the program writes to its standard output, where the server is the one that shows it.
    void program_output(const std::string& text);

    /// One message of the client.
    void receive(const std::string& message);
    /// Something is wrong with what the client sends: it is told.
    void complain(const std::string& text);
    /// The client has sent all that the program is to begin with.
    [[nodiscard]] bool is_configured() const { return configured_.load(); }
    /// The program ends.
    void terminated();

    void launch_begins(const Control& control) override;
    void launch_ends(const Control& control) override;
    void stopped(Control& control, const StopNotice& notice) override;
    void breakpoint_changed(const Breakpoint& breakpoint) override;
    void watch_removed(const Watchpoint& watchpoint, const std::string& reason) override;
    void output(const std::string& line) override;

  private:
    friend struct Row;
    struct Request {
        std::int64_t sequence = 0;
        std::string command;
        json::Object arguments;
    };

    static const Row* row(const std::string& command);
    void respond(const Request& request, json::Value body);
    void fail(const Request& request, const std::string& message);
    void event(const char* name, json::Value body);
    void send(json::Object message);
    /// Calls it, and responds with what it returns or throws.
    template <typename Call>
    void answer(const Request& request, Call&& call);

    // At once, on the server's thread.
    json::Value initialize(const Arguments& arguments);
    void check_token(const Arguments& arguments);
    json::Value attach(const Arguments& arguments);
    json::Value launch(const Arguments& arguments);
    json::Value configuration_done(const Arguments& arguments);
    json::Value set_exception_breakpoints(const Arguments& arguments);
    json::Value silence_calls(const Arguments& arguments);
    json::Value breakpoint_locations(const Arguments& arguments);
    json::Value source_text(const Arguments& arguments);
    json::Value loaded_sources(const Arguments& arguments);
    json::Value modules(const Arguments& arguments);
    json::Value cancel(const Arguments& arguments);
    json::Value disconnect(const Arguments& arguments);
    json::Value terminate(const Arguments& arguments);

    // For the launch that is stopped, on its thread; if none is, at once, with null.
    json::Value set_breakpoints(Control* control, const Arguments& arguments);
    json::Value set_function_breakpoints(Control* control, const Arguments& arguments);
    json::Value set_data_breakpoints(Control* control, const Arguments& arguments);

    // For the launch that is stopped, on its thread.
    json::Value continue_launch(Control& control, const Arguments& arguments);
    json::Value next(Control& control, const Arguments& arguments);
    json::Value step_in(Control& control, const Arguments& arguments);
    json::Value step_out(Control& control, const Arguments& arguments);
    json::Value step_back(Control& control, const Arguments& arguments);
    json::Value reverse_continue(Control& control, const Arguments& arguments);
    json::Value writes(Control& control, const Arguments& arguments);
    json::Value until(Control& control, const Arguments& arguments);
    json::Value to_barrier(Control& control, const Arguments& arguments);
    json::Value threads(Control& control, const Arguments& arguments);
    json::Value focus(Control& control, const Arguments& arguments);
    json::Value groups(Control& control, const Arguments& arguments);
    json::Value kernel(Control& control, const Arguments& arguments);
    json::Value stack_trace(Control& control, const Arguments& arguments);
    json::Value scopes(Control& control, const Arguments& arguments);
    json::Value variables(Control& control, const Arguments& arguments);
    json::Value set_variable(Control& control, const Arguments& arguments);
    json::Value set_expression(Control& control, const Arguments& arguments);
    json::Value completions(Control& control, const Arguments& arguments);
    json::Value evaluate(Control& control, const Arguments& arguments);
    json::Value evaluate_lanes(Control& control, const Arguments& arguments);
    json::Value data_breakpoint_info(Control& control, const Arguments& arguments);
    json::Value exception_info(Control& control, const Arguments& arguments);
    json::Value read_memory(Control& control, const Arguments& arguments);
    json::Value write_memory(Control& control, const Arguments& arguments);
    json::Value allocations(Control& control, const Arguments& arguments);
    json::Value disassemble(Control& control, const Arguments& arguments);
    json::Value write_core(Control& control, const Arguments& arguments);

    // Of requests that wait for a launch to take them (cancelling.cpp).
    void note_queued(std::int64_t request);
    /// @return whether it is still wanted
    [[nodiscard]] bool take_queued(std::int64_t request);
    [[nodiscard]] bool is_cancelled(std::int64_t request);
    void end_queued(std::int64_t request);
    json::Value move(Control& control, const Arguments& arguments, MovementKind kind);
    json::Object described(const Breakpoint& breakpoint);
    json::Array described(const std::vector<WatchReport>& watches);
    static json::Object described(const execution::ThreadWait& wait);
    [[nodiscard]] json::Array described_hits() const;
    json::Array described_writes(const Control& control, const std::vector<WatchReport>& writes);
    static std::string line_about(const WatchReport& report);
    json::Value described(const std::vector<Breakpoint>& breakpoints, std::vector<std::string> errors);
    [[nodiscard]] std::uint32_t line_from_client(std::int64_t line) const;
    [[nodiscard]] std::int64_t line_for_client(std::uint32_t line) const;

    CppEvaluator evaluator_;
    CppExpressionCompiler compiler_;
    Session session_;
    std::function<void(const std::string&)> send_;
    Service service_;
    std::function<void()> after_answer_;  ///< of a request: what ends the session, so that the answer is sent
    std::atomic<bool> trusted_{false};
    std::mutex sending_;  ///< guards sequence_ and program_
    std::int64_t sequence_ = 0;
    std::string program_, start_method_ = "launch";
    std::atomic<bool> configured_{false};
    std::atomic<int> first_line_{1}, first_column_{1};
    struct Queued {
        bool cancelled = false;  ///< by the client
        bool begun = false;      ///< a launch has taken it
    };
    std::mutex queue_;
    std::condition_variable request_ended_;
    std::map<std::int64_t, Queued> queued_;  ///< by number
    std::mutex sources_;                     ///< guards inspection_'s sources: the server's thread reads them
    Inspection inspection_;                  ///< of the launch that is stopped
    ThreadIds ids_;
};

}  // namespace cudasim::debugger
