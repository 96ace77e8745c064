// Breakpoints, steps and groups of threads on real launches, on every carrier. The client is a function that
// is called at each stop, on the launching thread.
#include "debugger/control/control.h"

#include <functional>

#include "tests/debugger/control/control_client.h"

namespace cudasim::debugger {
namespace {

using execution::kernel_file;
using execution::ThreadRef;
using execution::ThreadState;

class Controls : public ControlTest {
  protected:
    /// At the first stop this moves the focus, later ones go on.
    void move_first(MovementKind kind, StepUnit unit = StepUnit::thread, std::uint32_t line = 0) {
        client.at_stop = [this, kind, unit, line](Control& control, const StopNotice&) {
            if (client.stops.size() != 1) return control.go_on();
            client.session.breakpoints.clear();
            client.session.tell_of_changes();
            Movement movement;
            movement.kind = kind;
            movement.unit = unit;
            movement.thread = control.focus();
            movement.line = line;
            EXPECT_EQ(control.start(movement), "");
        };
    }
    using Stops = std::vector<std::string>;
};
INSTANTIATE_TEST_SUITE_P(Carriers, Controls, all_carriers, carrier_name);

TEST_P(Controls, breakpoints_stop_the_threads_in_their_range_and_change_nothing) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(104, "1..2")});
    EXPECT_EQ(run(1, 40), plain(1, 40));
    EXPECT_EQ(client.stops,
              (Stops{"breakpoint 1:104", "breakpoint 2:104", "breakpoint 1:104", "breakpoint 2:104"}));
    EXPECT_EQ((std::array{client.begun, client.ended, client.changed}), (std::array{1, 1, 1}));
    EXPECT_EQ(client.session.breakpoints.snapshot().front().hits, 4U);
}

TEST_P(Controls, blocks_have_ranges_too) {
    BreakpointRequest request = at_line(202, "(3,0,0)");
    std::string error;
    request.blocks = *IndexSet::parse("2", error);
    client.session.breakpoints.set_lines(kernel_file, {request});
    std::vector<std::uint64_t> blocks;
    client.at_stop = [&](Control& control, const StopNotice&) {
        blocks.push_back(control.focus().block);
        control.go_on();
    };
    EXPECT_EQ(run(4, 5), plain(4, 5));
    EXPECT_EQ(blocks, (std::vector<std::uint64_t>{2}));
}

TEST_P(Controls, steps_go_in_and_out_and_over) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "2")});
    client.at_stop = [&](Control& control, const StopNotice&) {
        constexpr std::array kinds{MovementKind::step_in, MovementKind::next, MovementKind::step_out};
        if (client.stops.size() > kinds.size()) return control.go_on();
        Movement movement;
        movement.kind = kinds[client.stops.size() - 1];
        movement.thread = control.focus();
        EXPECT_EQ(control.start(movement), "");
    };
    (void)run(1, 4);
    EXPECT_EQ(client.stops, (Stops{"breakpoint 2:202", "step 2:101", "step 2:102", "step 2:203"}));
}

TEST_P(Controls, next_passes_a_call) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "0")});
    move_first(MovementKind::next);
    (void)run(1, 3);
    EXPECT_EQ(client.stops, (Stops{"breakpoint 0:202", "step 0:203"}));
}

TEST_P(Controls, a_step_over_a_wait_lets_the_others_come_to_it) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(203, "1")});
    move_first(MovementKind::next);
    std::vector<std::uint32_t> after = run(1, 40), expected = plain(1, 40);
    EXPECT_EQ(client.stops, (Stops{"breakpoint 1:203", "step 1:204"}));
    after.resize(40);  // the first round
    expected.resize(40);
    EXPECT_EQ(after, expected);
}

TEST_P(Controls, others_that_pass_breakpoints_meanwhile_are_counted) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(203, "1"), at_line(105)});
    std::vector<std::string> notes;
    client.at_stop = [&](Control& control, const StopNotice& notice) {
        if (control.focus() == ThreadRef{0, 1} && notice.hit_breakpoints == std::vector<std::int64_t>{1}) {
            Movement movement;
            movement.kind = MovementKind::next;
            movement.thread = control.focus();
            EXPECT_EQ(control.start(movement), "");
            return;
        }
        if (notice.reason == StopReason::step) {
            notes = notice.notes;
            client.session.breakpoints.clear();
            client.session.tell_of_changes();
        }
        control.go_on();
    };
    (void)run(1, 5);
    EXPECT_EQ(client.stops.back(), "step 1:204");
    EXPECT_EQ(notes, (std::vector<std::string>{"4 other threads passed breakpoint 2"}));
}

TEST_P(Controls, a_thread_that_ends_during_its_step_says_so) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(204, "2")});
    std::string description;
    client.at_stop = [&](Control& control, const StopNotice& notice) {
        description = notice.description;
        if (client.stops.size() > 1) return control.go_on();
        Movement movement;
        movement.kind = MovementKind::step_out;
        movement.thread = control.focus();
        EXPECT_EQ(control.start(movement), "");
    };
    (void)run(1, 4);
    EXPECT_EQ(client.stops, (Stops{"breakpoint 2:204", "step 2:-"}));
    EXPECT_EQ(description, "thread ended");
}

TEST_P(Controls, until_runs_to_a_line_and_barrier_to_a_wait) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(201, "1")});
    move_first(MovementKind::until, StepUnit::thread, 203);
    (void)run(1, 4);
    EXPECT_EQ(client.stops, (Stops{"breakpoint 1:201", "step 1:203"}));
    client.stops.clear();
    client.session.breakpoints.set_lines(kernel_file, {at_line(201, "1")});
    move_first(MovementKind::barrier);
    (void)run(1, 4);
    EXPECT_EQ(client.stops, (Stops{"breakpoint 1:201", "step 1:203"}));
}

TEST_P(Controls, a_block_steps_together) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(204, "0")});
    std::uint64_t together = 0;
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (client.stops.size() > 2) return control.go_on();
        for (const ThreadGroup& group : control.groups())
            if (group.state == ThreadState::stopped) together = group.count;
        client.session.breakpoints.clear();
        client.session.tell_of_changes();
        Movement movement;
        movement.kind = client.stops.size() == 1 ? MovementKind::step_in : MovementKind::next;
        movement.unit = StepUnit::block;
        movement.thread = control.focus();
        EXPECT_EQ(control.start(movement), "");
    };
    (void)run(1, 6);
    EXPECT_EQ(client.stops, (Stops{"breakpoint 0:204", "step 0:101", "step 0:102"}));
    EXPECT_EQ(together, 6U);
}

TEST_P(Controls, a_pause_before_a_launch_stops_at_its_first_statement) {
    client.session.pause();
    (void)run(1, 3);
    EXPECT_EQ(client.stops, (Stops{"pause 0:201"}));
}

TEST_P(Controls, groups_hold_every_thread_of_the_grid_once) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "3")});
    bool looked = false;
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (control.focus().block == 1 && !looked) {
            looked = true;
            std::uint64_t threads = 0;
            for (const ThreadGroup& group : control.groups()) {
                threads += group.count;
                if (group.state == ThreadState::over && !group.on_device)
                    EXPECT_EQ(text_of(group.blocks), "0");
                if (group.state == ThreadState::stopped) EXPECT_EQ(group.line->line, 202U);
                if (group.on_device) EXPECT_EQ(control.launch().state(group.first), group.state);
            }
            EXPECT_EQ(threads, 4U * 9U);
            const auto places = control.launch().places(1);
            ASSERT_EQ(places.size(), 9U);
            for (std::uint32_t thread = 0; thread < places.size(); ++thread) {
                EXPECT_EQ(places[thread].state, control.launch().state({1, thread})) << thread;
                if (places[thread].state == ThreadState::stopped)
                    EXPECT_EQ(places[thread].site, control.launch().site({1, thread}));
            }
            EXPECT_EQ(control.set_focus({1, 5}), "");
            EXPECT_NE(control.set_focus({9, 5}), "");
            EXPECT_EQ(control.set_focus({3, 0}), "");  // has not started
            EXPECT_NE(control.set_focus({1, 99}), "");
        }
        control.go_on();
    };
    EXPECT_EQ(run(4, 9), plain(4, 9));
    EXPECT_TRUE(looked);
}

TEST_P(Controls, nothing_stops_when_the_client_is_gone) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202)});
    client.at_stop = [&](Control&, const StopNotice&) { client.session.end(); };
    EXPECT_EQ(run(2, 5), plain(2, 5));
    EXPECT_EQ(client.stops, (Stops{"breakpoint 0:202"}));
}

TEST_P(Controls, a_function_breakpoint_is_at_its_first_statement) {
    BreakpointRequest request;
    request.function = "append";
    request.temporary = true;
    client.session.breakpoints.set_functions({request});
    EXPECT_EQ(run(1, 3), plain(1, 3));
    EXPECT_EQ(client.stops, (Stops{"function 0:101"}));
    EXPECT_TRUE(client.session.breakpoints.snapshot().empty());
}

}  // namespace
}  // namespace cudasim::debugger
