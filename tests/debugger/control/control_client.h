// A client of Control for tests: a function that is called at each stop, on the launching thread.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "debugger/control/control.h"
#include "tests/debugger/control/two_rounds.h"

namespace cudasim::debugger {

class Client final : public Audience {
  public:
    Session session{*this};
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
        const bool taken = session.mailbox.post([this, notice](Control* stopped) {
            ASSERT_NE(stopped, nullptr);
            if (at_stop)
                at_stop(*stopped, notice);
            else
                stopped->go_on();
        });
        EXPECT_TRUE(taken);
    }
};

inline BreakpointRequest at_line(std::uint32_t line, std::string_view threads = "*") {
    BreakpointRequest request;
    request.file = execution::kernel_file;
    request.line = line;
    std::string error;
    request.threads = *IndexSet::parse(threads, error);
    return request;
}

}  // namespace cudasim::debugger
