// Clients of Control for tests: a function is called at each stop, on the launching thread.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "debugger/control/control.h"
#include "tests/simulator/execution/carriers.h"

namespace cudasim::debugger {

using execution::all_carriers;
using execution::carrier_name;
using execution::On;

/// Hears nothing; stopped() is to call answer().
class QuietClient : public Audience {
  public:
    Session session{*this};

    void launch_begins(const Control&) override {}
    void launch_ends(const Control&) override {}
    void breakpoint_changed(const Breakpoint&) override {}
    void watch_removed(const Watchpoint&, const std::string&) override {}
    void output(const std::string&) override {}

  protected:
    /// What the client does about the stop.
    void answer(std::function<void(Control&)> call) {
        EXPECT_TRUE(session.mailbox.post([call = std::move(call)](Control* stopped) {
            ASSERT_NE(stopped, nullptr);
            call(*stopped);
        }));
    }
};

class Client final : public QuietClient {
  public:
    std::function<void(Control&, const StopNotice&)> at_stop;
    std::vector<std::string> stops;  ///< "reason thread:line"
    std::vector<std::string> lines;
    int begun = 0, ended = 0, changed = 0;

    void launch_begins(const Control&) override { ++begun; }
    void launch_ends(const Control&) override { ++ended; }
    void breakpoint_changed(const Breakpoint&) override { ++changed; }
    void output(const std::string& line) override { lines.push_back(line); }
    void stopped(Control& control, const StopNotice& notice) override {
        constexpr std::array names{"breakpoint", "function", "step", "pause", "exception", "entry"};
        const findings::CallChain place = control.launch().location(control.focus());
        stops.push_back(std::string(names[static_cast<std::size_t>(notice.reason)]) + " " +
                        std::to_string(control.focus().thread) + ":" +
                        (place.empty() ? "-" : std::to_string(place.front().line)));
        answer([this, notice](Control& stopped) {
            if (at_stop)
                at_stop(stopped, notice);
            else
                stopped.go_on();
        });
    }
};

/// Runs two_rounds() under a Client.
class ControlTest : public ::testing::TestWithParam<On> {
  protected:
    std::vector<std::uint32_t> run(std::uint32_t blocks, std::uint32_t threads) {
        execution::LaunchOptions options = options_on(GetParam());
        Control control(client.session);
        options.stop_handler = &control;
        return run_two_rounds(GetParam(), blocks, threads, options);
    }
    /// The same without a debugger.
    [[nodiscard]] static std::vector<std::uint32_t> plain(std::uint32_t blocks, std::uint32_t threads) {
        execution::LaunchOptions options = options_on(GetParam());
        options.workers = 1;
        return run_two_rounds(GetParam(), blocks, threads, options);
    }
    Client client;
};

/// The focus moves when the client's function has returned.
inline void step(Control& control, MovementKind kind) {
    Movement movement;
    movement.kind = kind;
    movement.thread = control.focus();
    EXPECT_EQ(control.start(movement), "");
}

inline BreakpointRequest at_line(std::uint32_t line, std::string_view threads = "*") {
    BreakpointRequest request;
    request.file = execution::kernel_file;
    request.line = line;
    std::string error;
    request.threads = *IndexSet::parse(threads, error);
    return request;
}

}  // namespace cudasim::debugger
