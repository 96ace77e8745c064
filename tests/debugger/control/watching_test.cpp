// Watches of the control on real launches, on every carrier: what stops, in which thread, and what is told.
#include <functional>

#include "tests/debugger/control/control_client.h"

namespace cudasim::debugger {
namespace {

using execution::kernel_file;
using execution::StoppedLaunch;
using execution::ThreadRef;
using execution::WatchedSpace;
using execution::WatchHit;

class WatchingClient final : public QuietClient {
  public:
    std::function<void(Control&, const StopNotice&)> at_stop = [](Control& control, const StopNotice&) {
        control.go_on();
    };
    std::vector<std::string> stops;  ///< "thread:line old>new" of watches; "reason thread:line" of others
    std::vector<std::string> removed;

    void watch_removed(const Watchpoint& watchpoint, const std::string& reason) override {
        removed.push_back(std::to_string(watchpoint.id) + " " + reason);
    }
    void stopped(Control& control, const StopNotice& notice) override {
        const findings::CallChain place = control.launch().location(control.focus());
        std::string text = std::to_string(control.focus().thread) + ":" +
                           (place.empty() ? "-" : std::to_string(place.front().line));
        EXPECT_EQ(notice.reason == StopReason::watch, !notice.watches.empty());
        for (const WatchReport& each : notice.watches) {
            text += " " + (each.is_over ? "over" : each.texts.old_value + ">" + each.texts.new_value);
            text += "@" + std::to_string(each.place.line);
        }
        if (notice.watches.empty()) text = (notice.reason == StopReason::step ? "step " : "stop ") + text;
        stops.push_back(std::move(text));
        answer([this, notice](Control& stopped) { at_stop(stopped, notice); });
    }
};

class Watching : public ::testing::TestWithParam<On> {
  protected:
    using Stops = std::vector<std::string>;

    /// Runs two_rounds() in an array that outlives it.
    std::vector<std::uint32_t> run(std::uint32_t blocks, std::uint32_t threads, bool debugged = true) {
        execution::LaunchOptions options = options_on(GetParam());
        Control control(client.session);
        if (debugged)
            options.stop_handler = &control;
        else
            options.workers = 1;
        const std::vector<std::uint32_t> zeros(array.read().size());
        execution::device().copy_to_device(array.pointer(), zeros.data(), zeros.size() * 4);
        const auto image = execution::device().load(two_rounds(GetParam()));
        const std::uint64_t parameters[1] = {array.pointer()};
        const auto result = execution::device().launch(*image, "k", {{blocks}, {threads}, 0},
                                                       std::as_bytes(std::span(parameters)), options);
        EXPECT_EQ(execution::messages(result), "");
        return array.read();
    }
    /// Element `index` of the array, which counts what two_rounds() has appended at 0.
    WatchpointRequest element(std::uint64_t index, WatchAccess access = WatchAccess::write,
                              std::string_view threads = "*") {
        WatchTarget target;
        target.expression = "order[" + std::to_string(index) + "]";
        const std::uint64_t address = array.pointer() + 4 * index;
        target.ranges = {{address, 4}};
        target.describe = [address](const StoppedLaunch& launch, const WatchHit& hit) {
            std::uint32_t now = 0;
            EXPECT_TRUE(launch.read(hit.thread, address, std::as_writable_bytes(std::span(&now, 1))));
            std::uint32_t old = now;
            launch.watches().before(hit, address, std::as_writable_bytes(std::span(&old, 1)));
            return WatchTexts{"", std::to_string(old), std::to_string(now)};
        };
        WatchpointRequest request;
        request.data_id = client.session.watchpoints.name(std::move(target));
        request.access = access;
        std::string error;
        request.threads = *IndexSet::parse(threads, error);
        request.id = 1;
        return request;
    }
    void set(std::vector<WatchpointRequest> requests) {
        for (const auto& each : client.session.watchpoints.set(std::move(requests)))
            EXPECT_TRUE(each.has_value());
        client.session.tell_of_changes();
    }

    WatchingClient client;
    execution::DeviceArray<std::uint32_t> array{41};
};
INSTANTIATE_TEST_SUITE_P(Carriers, Watching, all_carriers, carrier_name);

TEST_P(Watching, names_the_writer_and_changes_nothing) {
    set({element(2)});
    const auto watched = run(1, 3);
    EXPECT_EQ(client.stops, (Stops{"1:105 0>1@105"}));
    EXPECT_EQ(watched, run(1, 3, false));
    EXPECT_EQ(client.session.watchpoints.snapshot().front().hits, 1U);
    EXPECT_TRUE(client.removed.empty());  // the memory is still there for another launch
}

TEST_P(Watching, has_ranges_and_hit_counts) {
    set({element(0, WatchAccess::write, "1..2")});
    (void)run(1, 4);
    EXPECT_EQ(client.stops, (Stops{"1:103 1>2@103", "2:103 2>3@103", "1:103 5>6@103", "2:103 6>7@103"}));
    client.stops.clear();
    WatchpointRequest request = element(0);
    request.hits_text = "== 3";
    request.hits = HitCondition::parse("== 3");
    set({request});
    (void)run(1, 4);
    EXPECT_EQ(client.stops, (Stops{"2:103 2>3@103"}));
    EXPECT_EQ(client.session.watchpoints.snapshot().front().hits, 8U);
}

TEST_P(Watching, reads_stop_where_they_are_asked_for) {
    set({element(0, WatchAccess::read, "0")});
    (void)run(1, 2);
    EXPECT_EQ(client.stops, (Stops{"0:101 0>0@101", "0:101 2>2@101"}));
}

TEST_P(Watching, a_watch_set_at_a_stop_sees_what_the_stopped_thread_does_next) {
    BreakpointRequest at_store;
    at_store.file = kernel_file;
    at_store.line = 105;
    client.session.breakpoints.set_lines(kernel_file, {at_store});
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (client.stops.size() == 1) {
            client.session.breakpoints.set_lines(kernel_file, {});
            set({element(1)});
        }
        control.go_on();
    };
    (void)run(1, 3);
    EXPECT_EQ(client.stops.size(), 1U);  // thread 0 writes 0 over 0
    client.stops.clear();
    set({});
    client.session.breakpoints.set_lines(kernel_file, {at_store});
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (control.focus().thread == 2 && client.stops.size() == 3) {
            client.session.breakpoints.set_lines(kernel_file, {});
            set({element(3)});
        }
        control.go_on();
    };
    (void)run(1, 3);
    EXPECT_EQ(client.stops, (Stops{"stop 0:105", "stop 1:105", "stop 2:105", "2:105 0>2@105"}));
}

TEST_P(Watching, stops_during_steps_too_whoever_writes) {
    BreakpointRequest at_wait;
    at_wait.file = kernel_file;
    at_wait.line = 203;
    std::string error;
    at_wait.threads = *IndexSet::parse("1", error);
    client.session.breakpoints.set_lines(kernel_file, {at_wait});
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (client.stops.size() != 1) return control.go_on();
        set({element(4)});
        step(control, MovementKind::next);  // over the wait: thread 3 writes meanwhile
    };
    const auto watched = run(1, 5);
    EXPECT_EQ(client.stops.front(), "stop 1:203");
    EXPECT_EQ(client.stops.at(1), "3:105 0>3@105");
    client.session.breakpoints.set_lines(kernel_file, {});
    set({});
    EXPECT_EQ(watched, run(1, 5, false));
}

TEST_P(Watching, a_step_ends_behind_the_access) {
    BreakpointRequest at_call;
    at_call.file = kernel_file;
    at_call.line = 202;
    std::string error;
    at_call.threads = *IndexSet::parse("1", error);
    client.session.breakpoints.set_lines(kernel_file, {at_call});
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (client.stops.size() == 1) {
            set({element(0)});
            return step(control, MovementKind::next);
        }
        if (client.stops.size() == 2) {
            set({});
            return step(control, MovementKind::next);
        }
        control.go_on();
    };
    (void)run(1, 3);
    EXPECT_EQ(client.stops, (Stops{"stop 1:202", "1:103 1>2@103", "step 1:104"}));
}

TEST_P(Watching, a_hit_that_does_not_count_ends_no_step) {
    BreakpointRequest at_store;
    at_store.file = kernel_file;
    at_store.line = 103;
    std::string error;
    at_store.threads = *IndexSet::parse("1", error);
    client.session.breakpoints.set_lines(kernel_file, {at_store});
    WatchpointRequest never = element(0);
    never.hits_text = "== 100";
    never.hits = HitCondition::parse("== 100");
    set({never});
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (client.stops.size() == 1) return step(control, MovementKind::step_in);
        client.session.breakpoints.set_lines(kernel_file, {});
        control.go_on();
    };
    (void)run(1, 3);
    EXPECT_EQ(client.stops, (Stops{"stop 1:103", "step 1:104"}));
    EXPECT_EQ(client.session.watchpoints.snapshot().front().hits, 6U);
}

TEST_P(Watching, stops_a_step_of_a_whole_block) {
    BreakpointRequest at_call;
    at_call.file = kernel_file;
    at_call.line = 202;
    std::string error;
    at_call.threads = *IndexSet::parse("0", error);
    client.session.breakpoints.set_lines(kernel_file, {at_call});
    client.at_stop = [&](Control& control, const StopNotice&) {
        if (client.stops.size() != 1) return control.go_on();
        set({element(2)});
        Movement movement;
        movement.kind = MovementKind::next;
        movement.unit = StepUnit::block;
        movement.thread = control.focus();
        EXPECT_EQ(control.start(movement), "");
    };
    (void)run(1, 4);
    EXPECT_EQ(client.stops, (Stops{"stop 0:202", "1:105 0>1@105"}));
}

TEST_P(Watching, ends_with_its_memory) {
    {
        const execution::DeviceArray<std::uint32_t> other(4);
        WatchTarget target;
        target.expression = "other[0]";
        target.ranges = {{other.pointer(), 4}};
        target.describe = [](const StoppedLaunch&, const WatchHit&) { return WatchTexts(); };
        WatchpointRequest request;
        request.data_id = client.session.watchpoints.name(std::move(target));
        request.id = 9;
        set({request});
        (void)run(1, 2);
        EXPECT_TRUE(client.removed.empty());
    }
    (void)run(1, 2);
    EXPECT_EQ(client.removed, (Stops{"9 its memory is not there any more"}));
    EXPECT_TRUE(client.session.watchpoints.snapshot().empty());
}

TEST(Watchpoints, keep_numbers_and_counts_of_what_is_set_again) {
    Watchpoints table;
    WatchTarget target;
    target.expression = "x[1]";
    target.ranges = {{64, 4}};
    target.describe = [](const StoppedLaunch&, const WatchHit&) { return WatchTexts(); };
    const std::string data_id = table.name(target);
    EXPECT_EQ(table.name(target), data_id);
    target.ranges = {{128, 4}};
    const std::string other = table.name(target);
    EXPECT_NE(other, data_id);
    EXPECT_TRUE(table.target(data_id).has_value());
    for (const char* wrong : {"", "x", "0:x[1]", "3:x[1]", "1:x[2]", "1"})
        EXPECT_FALSE(table.target(wrong).has_value()) << wrong;

    WatchpointRequest request;
    request.data_id = data_id;
    const auto first = table.set({request});
    ASSERT_TRUE(first[0].has_value());
    EXPECT_EQ(table.count_hit(first[0]->id), 1U);
    WatchpointRequest second = request;
    second.data_id = other;
    WatchpointRequest wrong = request;
    wrong.data_id = "77:y";
    const auto now = table.set({second, wrong, request});
    EXPECT_NE(now[0]->id, first[0]->id);
    EXPECT_FALSE(now[1].has_value());
    EXPECT_EQ(now[2]->id, first[0]->id);
    EXPECT_EQ(table.count_hit(first[0]->id), 2U);
    EXPECT_TRUE(table.set({}).empty());
    EXPECT_EQ(table.count_hit(first[0]->id), 0U);
}

TEST(Watchpoints, of_a_launch_are_removed_with_it) {
    Watchpoints table;
    WatchTarget target;
    target.expression = "s[1]";
    target.ranges = {{4, 4}};
    target.launch = 3;
    target.describe = [](const StoppedLaunch&, const WatchHit&) { return WatchTexts(); };
    WatchpointRequest request;
    request.data_id = table.name(target);
    (void)table.set({request});
    EXPECT_TRUE(table.remove_of_launch(2).empty());
    EXPECT_EQ(table.remove_of_launch(3).size(), 1U);
    EXPECT_TRUE(table.snapshot().empty());
    EXPECT_FALSE(table.target(request.data_id).has_value());
}

}  // namespace
}  // namespace cudasim::debugger
