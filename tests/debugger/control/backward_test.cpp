// Steps backwards on real launches, on every carrier: each comes to the statement that the thread was at
// before, and memory is what it was then.
#include "debugger/control/backward.h"

#include <set>

#include "tests/debugger/control/control_client.h"

namespace cudasim::debugger {
namespace {

using execution::kernel_file;
using execution::ThreadRef;

TEST(BackwardSteps, choose_by_depth) {
    const auto last = [](BackwardKind kind, bool stands) {
        BackwardSteps steps(kind, 2, stands);
        std::uint64_t count = 0;
        for (const std::size_t depth : {1, 2, 3, 3, 2}) steps.pass(++count, depth);
        return steps.end();
    };
    EXPECT_EQ(last(BackwardKind::step, true), 4U);
    EXPECT_EQ(last(BackwardKind::next, true), 2U);
    EXPECT_EQ(last(BackwardKind::finish, true), 1U);
    EXPECT_EQ(last(BackwardKind::next, false), 5U);
}

TEST(BackwardSteps, go_on_in_an_earlier_pass) {
    BackwardSteps steps(BackwardKind::next, 1, true);
    EXPECT_EQ(steps.end(), std::nullopt);
    steps.pass(7, 1);  // it stands here
    EXPECT_EQ(steps.end(), std::nullopt);
    steps.pass(3, 2);
    steps.pass(5, 1);
    steps.pass(6, 2);
    EXPECT_EQ(steps.end(), 5U);
}

class Backwards : public ControlTest {
  protected:
    static std::uint32_t line(const Control& control) {
        const findings::CallChain place = control.launch().location(control.focus());
        return place.empty() ? 0 : place.front().line;
    }
};
INSTANTIATE_TEST_SUITE_P(Carriers, Backwards, all_carriers, carrier_name);

TEST_P(Backwards, every_step_is_undone_by_one) {
    // Forwards through a function, over a wait, and into the second round; then all the way back.
    using Place = std::pair<std::uint64_t, std::uint32_t>;
    std::vector<Place> forwards, backwards;
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "5")});
    client.at_stop = [&](Control& control, const StopNotice&) {
        EXPECT_EQ(control.focus().thread, 5U);
        const Place here{control.launch().count(), line(control)};
        client.session.breakpoints.clear();
        if (forwards.size() < 12) {
            forwards.push_back(here);
            return step(control, MovementKind::step_in);
        }
        backwards.push_back(here);
        if (backwards.size() <= forwards.size())
            EXPECT_EQ(control.start_backward(BackwardKind::step, control.focus()), "");
        else
            control.go_on();
    };
    (void)run(1, 40);
    ASSERT_EQ(backwards.size(), 13U);
    for (std::size_t i = 0; i < forwards.size(); ++i)
        EXPECT_EQ(backwards[i + 1], forwards[forwards.size() - 1 - i]) << i;
    EXPECT_EQ(forwards.back().second, 103U);
}

TEST_P(Backwards, next_passes_over_functions_and_finish_leaves_them) {
    std::vector<std::uint32_t> lines;
    client.session.breakpoints.set_lines(kernel_file, {at_line(103, "5")});
    client.at_stop = [&](Control& control, const StopNotice&) {
        lines.push_back(line(control));
        switch (lines.size()) {
            case 1:  // in the first round
                client.session.breakpoints.clear();
                return step(control, MovementKind::step_out);
            case 2:
                EXPECT_EQ(control.start_backward(BackwardKind::next, control.focus()), "");
                return;
            case 3:
                return step(control, MovementKind::step_in);
            case 4:
                return step(control, MovementKind::step_in);
            case 5:
                EXPECT_EQ(control.start_backward(BackwardKind::finish, control.focus()), "");
                return;
            default:
                control.go_on();
        }
    };
    (void)run(1, 40);
    EXPECT_EQ(lines, (std::vector<std::uint32_t>{103, 203, 202, 101, 102, 202}));
}

TEST_P(Backwards, continuing_comes_to_the_last_breakpoint_and_then_to_the_beginning) {
    std::vector<std::string> seen;
    client.session.breakpoints.set_lines(kernel_file, {at_line(104, "1..2"), at_line(205, "30")});
    client.at_stop = [&](Control& control, const StopNotice& notice) {
        seen.push_back(client.stops.back() + (notice.notes.empty() ? "" : " " + notice.notes.back()));
        if (line(control) == 205) {
            client.session.breakpoints.set_lines(kernel_file, {at_line(104, "1..2")});
            client.session.tell_of_changes();
        }
        if (client.stops.size() < 5) return control.go_on();
        if (client.stops.size() < 10)
            EXPECT_EQ(control.start_backward(BackwardKind::go_on, control.focus()), "");
        else
            control.go_on();
    };
    (void)run(1, 40);
    EXPECT_EQ(std::vector(seen.begin() + 5, seen.begin() + 10),
              (std::vector<std::string>{"breakpoint 2:104", "breakpoint 1:104", "breakpoint 2:104",
                                        "breakpoint 1:104", "step 0:201 the launch begins here"}))
        << seen.size();
    // From the beginning everything is met again.
    EXPECT_EQ(seen.size(), 14U);
}

TEST_P(Backwards, a_thread_without_a_past_stays) {
    std::vector<std::string> notes;
    client.session.breakpoints.set_lines(kernel_file, {at_line(201, "7")});
    client.at_stop = [&](Control& control, const StopNotice& notice) {
        notes.insert(notes.end(), notice.notes.begin(), notice.notes.end());
        client.session.breakpoints.clear();
        if (client.stops.size() == 1)
            EXPECT_EQ(control.start_backward(BackwardKind::step, control.focus()), "");
        else
            control.go_on();
    };
    (void)run(1, 40);
    EXPECT_EQ(client.stops, (std::vector<std::string>{"breakpoint 7:201", "step 7:201"}));
    EXPECT_EQ(notes, (std::vector<std::string>{"the thread was at no such statement before"}));
}

TEST_P(Backwards, without_a_history_they_are_refused) {
    client.session.history_bytes = 0;
    std::string error;
    client.session.breakpoints.set_lines(kernel_file, {at_line(201, "7")});
    client.at_stop = [&](Control& control, const StopNotice&) {
        error = control.start_backward(BackwardKind::step, control.focus());
        control.go_on();
    };
    (void)run(1, 40);
    EXPECT_EQ(error, "this launch cannot go back: it is switched off");
}

TEST_P(Backwards, results_are_those_without_a_debugger) {
    const auto expected = plain(4, 40);
    client.session.breakpoints.set_lines(kernel_file, {at_line(204, "(3,0,0)")});
    std::set<std::uint64_t> known;
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (!known.insert(control.launch().count()).second) return control.go_on();
        EXPECT_EQ(control.start_backward(BackwardKind::next, control.focus()), "");
    };
    EXPECT_EQ(run(4, 40), expected);
    EXPECT_GE(client.stops.size(), 8U);
}

}  // namespace
}  // namespace cudasim::debugger
