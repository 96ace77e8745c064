// Threads of blocks that have not begun are looked at and moved, alone; and movements during which nobody
// else may run say for whom a thread waits. On every carrier.
#include <algorithm>
#include <array>

#include "tests/debugger/control/control_client.h"

namespace cudasim::debugger {
namespace {

using execution::kernel_file;
using execution::ThreadRef;
using execution::ThreadState;
using execution::ThreadWait;

class OtherBlocks : public ControlTest {
  protected:
    /// What the client does at its stops, one after another; then it goes on.
    void at_stops(std::vector<std::function<void(Control&, const StopNotice&)>> actions) {
        client.at_stop = [this, actions = std::move(actions)](Control& control, const StopNotice& notice) {
            if (client.stops.size() > actions.size()) return control.go_on();
            actions[client.stops.size() - 1](control, notice);
        };
    }
    void forget_breakpoints() {
        client.session.breakpoints.clear();
        client.session.tell_of_changes();
    }
    static void move(Control& control, MovementKind kind, bool is_locked = false,
                     StepUnit unit = StepUnit::thread) {
        Movement movement;
        movement.kind = kind;
        movement.unit = unit;
        movement.is_locked = is_locked;
        movement.thread = control.focus();
        EXPECT_EQ(control.start(movement), "");
    }
    static void expect_not_started_but(const Control& control, std::uint64_t block, std::uint32_t but) {
        const auto places = control.launch().places(block);
        for (std::uint32_t thread = 0; thread < places.size(); ++thread)
            if (thread != but) {
                EXPECT_EQ(places[thread].state, ThreadState::not_started) << thread;
            }
    }
    static std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> numbers) {
        std::ranges::sort(numbers);
        return numbers;
    }
    [[nodiscard]] static bool is_of_warp() { return GetParam() == On::lanes; }
    using Stops = std::vector<std::string>;
};
INSTANTIATE_TEST_SUITE_P(Carriers, OtherBlocks, all_carriers, carrier_name);

TEST_P(OtherBlocks, that_have_not_begun_are_focused_and_one_thread_moves_alone) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "0")});
    at_stops({[&](Control& control, const StopNotice&) {
                  forget_breakpoints();
                  EXPECT_EQ(control.set_focus({2, 13}), "");
                  EXPECT_EQ(control.launch().state(control.focus()), ThreadState::not_started);
                  EXPECT_TRUE(control.launch().location(control.focus()).empty());
                  EXPECT_FALSE(control.launch().is_on_device(2));  // looking does not start it
                  move(control, MovementKind::step_in);
              },
              [&](Control& control, const StopNotice&) {
                  EXPECT_EQ(control.focus(), (ThreadRef{2, 13}));
                  expect_not_started_but(control, 2, 13);
                  EXPECT_EQ(control.launch().state({0, 0}), ThreadState::stopped);
                  move(control, MovementKind::next);
              },
              [&](Control& control, const StopNotice&) { move(control, MovementKind::next); },
              [&](Control& control, const StopNotice&) {
                  expect_not_started_but(control, 2, 13);
                  control.go_on();
              }});
    EXPECT_EQ(sorted(run(4, 40)), sorted(plain(4, 40)));
    EXPECT_EQ(client.stops, (Stops{"breakpoint 0:202", "step 13:201", "step 13:202", "step 13:203"}));
}

TEST_P(OtherBlocks, let_their_own_threads_run_where_one_must_wait_and_no_others) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "0")});
    at_stops({[&](Control& control, const StopNotice&) {
                  forget_breakpoints();
                  EXPECT_EQ(control.set_focus({3, 5}), "");
                  Movement movement;
                  movement.kind = MovementKind::until;
                  movement.thread = control.focus();
                  movement.line = 203;
                  EXPECT_EQ(control.start(movement), "");
              },
              [&](Control& control, const StopNotice&) { move(control, MovementKind::next); },
              [&](Control& control, const StopNotice&) {
                  EXPECT_EQ(control.focus(), (ThreadRef{3, 5}));
                  EXPECT_EQ(control.launch().state({0, 0}), ThreadState::stopped);
                  expect_not_started_but(control, 0, 0);
                  EXPECT_EQ(control.launch().blocks(), (std::vector<std::uint64_t>{0, 3}));
                  // Of a warp operation only the lanes of the warp have come.
                  EXPECT_EQ(control.launch().state({3, 35}) == ThreadState::not_started, is_of_warp());
                  control.go_on();
              }});
    EXPECT_EQ(sorted(run(5, 40)), sorted(plain(5, 40)));
    EXPECT_EQ(client.stops, (Stops{"breakpoint 0:202", "step 5:203", "step 5:204"}));
}

TEST_P(OtherBlocks, that_are_over_cannot_be_focused_and_say_so) {
    BreakpointRequest request = at_line(202, "1");
    std::string error;
    request.blocks = *IndexSet::parse("2", error);
    client.session.breakpoints.set_lines(kernel_file, {request});
    at_stops({[&](Control& control, const StopNotice&) {
        EXPECT_EQ(control.set_focus({0, 2}),
                  "block 0 is over: all its threads have run to their ends; a reverse command, such as "
                  "reverse-continue with a breakpoint in it, brings it back");
        EXPECT_EQ(control.focus(), (ThreadRef{2, 1}));
        Movement movement;
        movement.thread = {1, 0};
        EXPECT_EQ(control.start(movement), "the thread has ended");
        EXPECT_NE(control.set_focus({4, 0}), "");
        EXPECT_EQ(control.set_focus({3, 0}), "");
        control.go_on();
    }});
    EXPECT_EQ(run(4, 3), plain(4, 3));
}

TEST_P(OtherBlocks, are_counted_where_they_are) {
    BreakpointRequest request = at_line(202, "1");
    std::string error;
    request.blocks = *IndexSet::parse("1", error);
    client.session.breakpoints.set_lines(kernel_file, {request});
    const auto counts = [](const Control& control) {
        std::array<std::uint64_t, 2> elsewhere{};
        std::uint64_t all = 0;
        for (const ThreadGroup& group : control.groups()) {
            all += group.count;
            if (!group.on_device) elsewhere[group.state == ThreadState::over ? 0 : 1] += group.count;
        }
        EXPECT_EQ(all, 6U * 4);
        return elsewhere;
    };
    at_stops({[&](Control& control, const StopNotice&) {
                  EXPECT_EQ(counts(control), (std::array<std::uint64_t, 2>{4, 4 * 4}));
                  forget_breakpoints();
                  EXPECT_EQ(control.set_focus({4, 2}), "");
                  move(control, MovementKind::step_in);
              },
              [&](Control& control, const StopNotice&) {
                  EXPECT_EQ(counts(control), (std::array<std::uint64_t, 2>{4, 3 * 4}));
                  control.go_on();
              }});
    EXPECT_EQ(sorted(run(6, 4)), sorted(plain(6, 4)));
}

TEST_P(OtherBlocks, go_back_as_any_other) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "0")});
    const auto back = [](Control& control, const StopNotice&) {
        EXPECT_EQ(control.start_backward(BackwardKind::step, control.focus()), "");
    };
    const auto step = [](Control& control, const StopNotice&) { move(control, MovementKind::step_in); };
    at_stops({[&](Control& control, const StopNotice&) {
                  forget_breakpoints();
                  EXPECT_EQ(control.set_focus({2, 7}), "");
                  move(control, MovementKind::step_in);
              },
              step, step, step, back, back, step,
              [&](Control& control, const StopNotice&) {
                  EXPECT_EQ(control.focus(), (ThreadRef{2, 7}));
                  expect_not_started_but(control, 2, 7);
                  control.go_on();
              }});
    EXPECT_EQ(sorted(run(4, 40)), sorted(plain(4, 40)));
    EXPECT_EQ(client.stops, (Stops{"breakpoint 0:202", "step 7:201", "step 7:202", "step 7:101", "step 7:102",
                                   "step 7:101", "step 7:202", "step 7:101"}));
}

TEST_P(OtherBlocks, still_let_their_own_threads_run_after_going_back) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "0")});
    const auto next = [](Control& control, const StopNotice&) { move(control, MovementKind::next); };
    at_stops({[&](Control& control, const StopNotice&) {
                  forget_breakpoints();
                  EXPECT_EQ(control.set_focus({3, 5}), "");
                  Movement movement;
                  movement.kind = MovementKind::until;
                  movement.thread = control.focus();
                  movement.line = 203;
                  EXPECT_EQ(control.start(movement), "");
              },
              [](Control& control, const StopNotice&) {
                  EXPECT_EQ(control.start_backward(BackwardKind::step, control.focus()), "");
              },
              next, next,
              [&](Control& control, const StopNotice&) {
                  EXPECT_EQ(control.launch().called_for(), (ThreadRef{0, 0}));
                  EXPECT_EQ(control.launch().state({0, 0}), ThreadState::stopped);
                  expect_not_started_but(control, 0, 0);
                  EXPECT_EQ(control.launch().blocks(), (std::vector<std::uint64_t>{0, 3}));
                  control.go_on();
              }});
    EXPECT_EQ(sorted(run(5, 40)), sorted(plain(5, 40)));
    EXPECT_EQ(client.stops,
              (Stops{"breakpoint 0:202", "step 5:203", "step 5:106", "step 5:203", "step 5:204"}));
}

// With lock -------------------------------------------------------------------------------------------------

TEST_P(OtherBlocks, may_not_run_under_lock_and_a_step_says_for_whom_it_waits) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(203, "3")});
    at_stops({[&](Control& control, const StopNotice&) {
                  forget_breakpoints();
                  move(control, MovementKind::next, true);
              },
              [&](Control& control, const StopNotice& notice) {
                  EXPECT_EQ(notice.description, "waits");
                  ASSERT_TRUE(notice.wait.has_value());
                  EXPECT_EQ(notice.wait->kind,
                            is_of_warp() ? ThreadWait::Kind::warp : ThreadWait::Kind::barrier);
                  EXPECT_EQ(
                      notice.notes,
                      (std::vector<std::string>{
                          is_of_warp() ? "the thread waits in a warp operation for threads 4..31 of its block"
                                       : "the thread waits at a barrier for threads 4..39 of its block"}));
                  for (std::uint32_t thread = 4; thread < 40; ++thread)
                      EXPECT_EQ(control.launch().state({0, thread}), ThreadState::not_started);
                  move(control, MovementKind::next, true);  // it waits as before
              },
              [&](Control& control, const StopNotice& notice) {
                  EXPECT_TRUE(notice.wait.has_value());
                  move(control, MovementKind::next);
              },
              [&](Control& control, const StopNotice& notice) {
                  EXPECT_FALSE(notice.wait.has_value());
                  control.go_on();
              }});
    EXPECT_EQ(sorted(run(2, 40)), sorted(plain(2, 40)));
    EXPECT_EQ(client.stops, (Stops{"breakpoint 3:203", "step 3:203", "step 3:203", "step 3:204"}));
}

TEST_P(OtherBlocks, hold_while_one_thread_goes_on_under_lock_until_it_must_wait_or_ends) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "1"), at_line(105, "1")});
    const auto go_on_alone = [&](Control& control, const StopNotice&) {
        move(control, MovementKind::go_on, true);
    };
    at_stops({go_on_alone, go_on_alone,
              [&](Control& control, const StopNotice& notice) {
                  EXPECT_TRUE(notice.wait.has_value());
                  expect_not_started_but(control, 1, 0);
                  forget_breakpoints();
                  EXPECT_EQ(control.set_focus({0, 2}), "");
                  move(control, MovementKind::go_on, true);
              },
              [&](Control& control, const StopNotice&) {
                  // It was the last one to come, and ended.
                  EXPECT_EQ(control.launch().state({0, 2}), ThreadState::over);
                  EXPECT_EQ(control.launch().state({0, 1}), ThreadState::can_run);
                  control.go_on();
              }});
    EXPECT_EQ(sorted(run(2, 3)), sorted(plain(2, 3)));
    EXPECT_EQ(client.stops, (Stops{"breakpoint 1:202", "breakpoint 1:105", "step 1:203", "step 2:-"}));
}

TEST_P(OtherBlocks, are_all_of_a_step_of_the_grid_which_lock_refuses) {
    client.session.breakpoints.set_lines(kernel_file, {at_line(202, "1")});
    at_stops({[&](Control& control, const StopNotice&) {
        Movement movement;
        movement.unit = StepUnit::grid;
        movement.is_locked = true;
        movement.thread = control.focus();
        EXPECT_NE(control.start(movement).find("lock is on"), std::string::npos);
        forget_breakpoints();
        control.go_on();
    }});
    EXPECT_EQ(run(2, 3), plain(2, 3));
}

}  // namespace
}  // namespace cudasim::debugger
