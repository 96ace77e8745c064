// Launches in which nothing can stop: they run their usual code, and are undone and run again with stops when
// they fail, or are wanted to stop.
#include <functional>
#include <thread>

#include "tests/debugger/control/control_client.h"

namespace cudasim::debugger {
namespace {

using execution::device;
using execution::DeviceArray;
using execution::kernel_file;
using execution::Policy;
using execution::StoppedLaunch;

/// Notes in what code launches begin, and all notes of stops.
class NotingClient final : public QuietClient {
  public:
    std::function<void(Control&)> at_stop = [](Control& control) { control.go_on(); };
    std::function<void(const Control&)> at_begin = [](const Control&) {};
    std::vector<bool> usual, usual_to_its_end;
    std::vector<std::string> stops, notes, lines, errors;

    void launch_begins(const Control& control) override {
        usual.push_back(control.launch().runs_usual_code());
        at_begin(control);
    }
    void launch_ends(const Control& control) override {
        usual_to_its_end.push_back(control.launch().runs_usual_code());
        errors.push_back(control.error());
    }
    void output(const std::string& line) override { lines.push_back(line); }
    void stopped(Control& control, const StopNotice& notice) override {
        constexpr std::array names{"breakpoint", "function", "step", "pause", "exception", "entry"};
        const findings::CallChain place = control.launch().location(control.focus());
        stops.push_back(std::string(names[static_cast<std::size_t>(notice.reason)]) + " " +
                        std::to_string(control.focus().block) + "," + std::to_string(control.focus().thread) +
                        ":" + (place.empty() ? "-" : std::to_string(place.front().line)));
        notes.insert(notes.end(), notice.notes.begin(), notice.notes.end());
        answer([this](Control& stopped) { at_stop(stopped); });
    }
};

/// Threads put their numbers into `order`, print them, add 1 to order[200], wait, and store 1 at `place`,
/// whose first 20 bytes may be written, at their number. @append is on lines 101 to 106.
image::KernelImage storing_image(On carrier) {
    return execution::with_lines(execution::ir_image(std::string(execution::append_function) + R"(
@format = internal addrspace(4) constant [4 x i8] c"%d\0A\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %order, ptr %place) {
  %number = alloca i32
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr %number
  call void @append(ptr %order, i32 %t)
  %f = addrspacecast ptr addrspace(4) @format to ptr
  %r = call i32 @vprintf(ptr %f, ptr %number)
  %sum = getelementptr i32, ptr %order, i32 200
  %old = atomicrmw add ptr %sum, i32 1 seq_cst
  )" + execution::wait_on(carrier) + R"(
  %q = getelementptr i32, ptr %place, i32 %t
  store i32 1, ptr %q
  ret void
})"));
}
constexpr std::uint32_t line_of_store = 211;

/// Threads wait for order[0] to be other than 0, counting rounds in order[2], and then count in order[1].
image::KernelImage waiting_image() {
    return execution::with_lines(execution::ir_image(R"(
define void @k(ptr %order, ptr %place) {
entry:
  %sum = getelementptr i32, ptr %order, i32 1
  %rounds = getelementptr i32, ptr %order, i32 2
  br label %head
head:
  %round = load volatile i32, ptr %rounds
  %next = add i32 %round, 1
  store volatile i32 %next, ptr %rounds
  %now = load volatile i32, ptr %order
  %more = icmp eq i32 %now, 0
  br i1 %more, label %head, label %end
end:
  %old = atomicrmw add ptr %sum, i32 1 seq_cst
  ret void
})"));
}

class UsualCode : public ::testing::TestWithParam<On> {
  protected:
    execution::LaunchResult launch(const image::KernelImage& image, execution::StopHandler* handler,
                                   std::uint32_t threads, std::uint32_t blocks = 1) {
        execution::LaunchOptions options = options_on(GetParam());
        options.policy = policy;
        options.stop_handler = handler;
        options.workers = 1;
        options.time_limit_seconds = time_limit;
        options.write_output = [this](std::string_view text) {
            printed += text;
            return true;
        };
        for (execution::LaunchObserver* each : observers) options.observers.add(*each);
        DeviceArray<std::uint32_t> order(201), place(5);
        order_ = order.pointer();
        image_ = device().load(image);
        const std::uint64_t parameters[2] = {order.pointer(), place.pointer()};
        auto result = device().launch(*image_, "k", {{blocks}, {threads}, 0},
                                      std::as_bytes(std::span(parameters)), options);
        values = order.read();
        stored = place.read();
        return result;
    }
    execution::LaunchResult debug(const image::KernelImage& image, std::uint32_t threads,
                                  std::uint32_t blocks = 1) {
        Control control(client.session);
        return launch(image, &control, threads, blocks);
    }
    [[nodiscard]] std::uint32_t number(const StoppedLaunch& launch, std::uint32_t index) const {
        std::uint32_t value = 0;
        EXPECT_TRUE(launch.read(launch.stopped_thread(), order_ + 4 * index,
                                std::as_writable_bytes(std::span(&value, 1))));
        return value;
    }
    static void set(StoppedLaunch& launch, std::uint64_t address, std::uint32_t value) {
        EXPECT_TRUE(launch.write(launch.stopped_thread(), address, std::as_bytes(std::span(&value, 1))));
    }
    using Texts = std::vector<std::string>;

    NotingClient client;
    Policy policy = Policy::forward;
    double time_limit = 0;
    std::vector<execution::LaunchObserver*> observers;
    std::vector<std::uint32_t> values, stored;
    std::string printed;
    std::uint64_t order_ = 0;
    std::shared_ptr<execution::LoadedImage> image_;
};
INSTANTIATE_TEST_SUITE_P(Carriers, UsualCode, all_carriers, carrier_name);

TEST_P(UsualCode, runs_where_nothing_is_armed_and_gives_the_same) {
    for (const Policy each : {Policy::forward, Policy::reverse, Policy::random}) {
        policy = each;
        const auto expected = launch(storing_image(GetParam()), nullptr, 5, 3);
        const auto expected_values = values;
        const std::string expected_text = std::exchange(printed, "");
        const auto result = debug(storing_image(GetParam()), 5, 3);
        EXPECT_EQ(values, expected_values);
        EXPECT_EQ(printed, expected_text);
        EXPECT_EQ(result.blocks_run, expected.blocks_run);
        printed.clear();
    }
    EXPECT_EQ(client.usual_to_its_end, (std::vector{true, true, true}));
    EXPECT_EQ(client.stops, Texts());
}

TEST_P(UsualCode, that_fails_is_undone_and_stops_before_the_damage) {
    const auto expected = launch(storing_image(GetParam()), nullptr, 7, 2);
    const auto expected_values = values;
    const auto expected_stored = stored;
    const std::string expected_text = std::exchange(printed, "");
    ASSERT_NE(expected.error(), nullptr);
    std::vector<std::uint32_t> sums, counts;
    std::vector<std::string> variables;
    client.at_stop = [&](Control& control) {
        sums.push_back(number(control.launch(), 200));
        counts.push_back(number(control.launch(), 0));
        for (const auto& each : control.launch().variables(control.focus())) variables.push_back(each.name);
        control.go_on();
    };
    const auto result = debug(storing_image(GetParam()), 7, 2);
    EXPECT_EQ(client.usual, (std::vector{true}));
    EXPECT_EQ(client.stops, (Texts{"exception 0,5:" + std::to_string(line_of_store)}));
    EXPECT_EQ(client.notes, Texts());
    // All threads of the block had come to the barrier, each once; lanes that wait for their warp only, too.
    EXPECT_EQ(sums, (std::vector<std::uint32_t>{7}));
    EXPECT_EQ(counts, (std::vector<std::uint32_t>{7}));
    EXPECT_EQ(variables, (std::vector<std::string>{"number"}));
    EXPECT_EQ(values, expected_values);
    EXPECT_EQ(stored, expected_stored);
    EXPECT_EQ(printed, expected_text);
    ASSERT_EQ(result.findings.size(), expected.findings.size());
    EXPECT_EQ(result.findings.front().message, expected.findings.front().message);
    EXPECT_EQ(result.findings.front().count, expected.findings.front().count);
    EXPECT_EQ(result.blocks_run, expected.blocks_run);
    EXPECT_EQ(client.errors.size(), 1U);
    EXPECT_NE(client.errors.front(), "");
}

TEST_P(UsualCode, that_fails_can_be_gone_back_in) {
    std::vector<std::uint64_t> counts;
    client.at_stop = [&](Control& control) {
        counts.push_back(control.launch().count());
        if (counts.size() > 3) return control.go_on();
        EXPECT_EQ(control.start_backward(BackwardKind::next, control.focus()), "");
    };
    const auto result = debug(storing_image(GetParam()), 7);
    EXPECT_NE(result.error(), nullptr);
    ASSERT_GE(client.stops.size(), 4U);
    EXPECT_EQ(client.stops[0], "exception 0,5:" + std::to_string(line_of_store));
    EXPECT_EQ(client.stops[1].substr(0, 9), "step 0,5:");
    EXPECT_TRUE(std::ranges::is_sorted(counts.begin() + 1, counts.begin() + 4, std::greater())) << counts[1];
    EXPECT_EQ(printed, "0\n1\n2\n3\n4\n5\n6\n");
}

TEST_P(UsualCode, goes_on_where_errors_do_not_stop) {
    client.session.errors_stop = false;
    const auto result = debug(storing_image(GetParam()), 7);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(client.usual, (std::vector{true}));
    EXPECT_EQ(client.stops, Texts());
    EXPECT_NE(client.errors.front(), "");
    EXPECT_EQ(values[200], 7U);
}

TEST_P(UsualCode, is_left_for_a_pause_and_runs_again) {
    std::thread pausing;
    client.at_begin = [&](const Control&) {
        pausing = std::thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            client.session.pause();
        });
    };
    client.at_stop = [&](Control& control) {
        set(control.launch(), order_, 1);
        control.go_on();
    };
    const auto result = debug(waiting_image(), 3);
    pausing.join();
    EXPECT_TRUE(result.findings.empty());
    EXPECT_EQ(client.usual, (std::vector{true}));
    ASSERT_EQ(client.stops.size(), 1U);
    EXPECT_EQ(client.stops[0].substr(0, 6), "pause ");
    EXPECT_GE(client.stops[0].substr(client.stops[0].find(':') + 1), "104");  // in the loop
    EXPECT_EQ(client.notes,
              (Texts{"the launch has begun again so that it can stop, and is about as far as it was"}));
    EXPECT_EQ(values[1], 3U);
}

TEST_P(UsualCode, is_left_for_a_breakpoint_that_is_set_meanwhile) {
    std::thread setting;
    client.at_begin = [&](const Control&) {
        setting = std::thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            BreakpointRequest elsewhere = at_line(103);
            elsewhere.file = "/work/other.py";
            client.session.breakpoints.set_lines("/work/other.py", {elsewhere});
            client.session.breakpoints.set_lines(kernel_file, {at_line(107, "1")});
            client.session.tell_of_changes();
        });
    };
    client.at_stop = [&](Control& control) {
        set(control.launch(), order_, 1);
        control.go_on();
    };
    (void)debug(waiting_image(), 3);
    setting.join();
    ASSERT_FALSE(client.stops.empty());
    EXPECT_EQ(client.stops[0], "breakpoint 0,1:107");
    EXPECT_EQ(values[1], 3U);
}

TEST_P(UsualCode, is_not_run_by_the_next_launch_with_a_breakpoint) {
    (void)debug(storing_image(GetParam()), 5);
    client.session.breakpoints.set_lines(kernel_file, {at_line(line_of_store, "2")});
    (void)debug(storing_image(GetParam()), 5);
    BreakpointRequest other = at_line(line_of_store);
    other.file = "/work/other.py";
    client.session.breakpoints.set_lines(kernel_file, {});
    client.session.breakpoints.set_lines("/work/other.py", {other});
    (void)debug(storing_image(GetParam()), 5);
    EXPECT_EQ(client.usual, (std::vector{true, false, true}));
    EXPECT_EQ(client.stops, (Texts{"breakpoint 0,2:" + std::to_string(line_of_store)}));
}

TEST_P(UsualCode, is_not_run_without_a_history_or_where_the_host_sees_memory) {
    client.session.history_bytes = 0;
    (void)debug(storing_image(GetParam()), 5);
    client.session.history_bytes = 100;  // too little
    (void)debug(storing_image(GetParam()), 5);
    client.session.history_bytes = std::uint64_t{1} << 30;
    const auto pinned = device().allocate(64, {.label = "pinned", .host = true});
    (void)debug(storing_image(GetParam()), 5);
    device().free(pinned);
    execution::Device second(execution::h100());
    const auto peers = second.allocate(64);
    (void)debug(storing_image(GetParam()), 5);
    second.free(peers);
    (void)debug(storing_image(GetParam()), 5);
    EXPECT_EQ(client.usual_to_its_end, (std::vector{false, false, false, false, true}));
}

TEST_P(UsualCode, stops_at_the_time_limit_with_stops) {
    time_limit = 0.1;
    const auto result = debug(waiting_image(), 3);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(client.usual, (std::vector{true}));
    ASSERT_EQ(client.stops.size(), 1U);
    EXPECT_EQ(client.stops[0].substr(0, 10), "exception ");
    EXPECT_EQ(values[1], 0U);
}

TEST_P(UsualCode, stops_where_threads_wait_for_ever_with_stops) {
    const auto image = execution::with_lines(execution::ir_image(R"(
define void @k(ptr %order, ptr %place) {
entry:
  br label %head
head:
  %now = load volatile i32, ptr %order
  %more = icmp eq i32 %now, 0
  br i1 %more, label %head, label %end
end:
  ret void
})"));
    const auto result = debug(image, 3);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, findings::FindingKind::livelock);
    EXPECT_EQ(client.usual, (std::vector{true}));
    ASSERT_EQ(client.stops.size(), 1U);
    EXPECT_EQ(client.stops[0].substr(0, 10), "exception ");
}

/// The same handler, which changes memory before the launch begins again.
class Changing final : public execution::StopHandler {
  public:
    Changing(Control& control, std::function<void()> change)
        : control_(control), change_(std::move(change)) {}
    bool needs_stops(const execution::KernelToStop& kernel) override { return control_.needs_stops(kernel); }
    bool begins_again_for(const findings::Finding& failure) override {
        return control_.begins_again_for(failure);
    }
    void has_code_with_stops(StoppedLaunch& launch) override {
        change_();
        control_.has_code_with_stops(launch);
    }
    void launch_begins(StoppedLaunch& launch) override { control_.launch_begins(launch); }
    void launch_ends() override { control_.launch_ends(); }
    void stopped(StoppedLaunch& launch) override { control_.stopped(launch); }
    void faulted(StoppedLaunch& launch) override { control_.faulted(launch); }

  private:
    Control& control_;
    std::function<void()> change_;
};

/// Thread order[1] stores at null.
image::KernelImage failing_image() {
    return execution::with_lines(execution::ir_image(R"(
define void @k(ptr %order, ptr %place) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i32, ptr %order, i32 1
  %who = load volatile i32, ptr %q
  %fails = icmp eq i32 %who, %t
  %target = select i1 %fails, ptr null, ptr %place
  store i32 1, ptr %target
  ret void
})"));
}

TEST_P(UsualCode, that_fails_otherwise_the_second_time_is_told) {
    for (const std::uint32_t who : {2U, 99U}) {
        Control control(client.session);
        Changing changing(control, [&] { device().copy_to_device(order_ + 4, &who, sizeof who); });
        (void)launch(failing_image(), &changing, 5);
    }
    EXPECT_EQ(client.stops, (Texts{"exception 0,2:106"}));
    ASSERT_EQ(client.notes.size(), 1U);
    EXPECT_TRUE(client.notes[0].starts_with("without stops the launch failed otherwise: "))
        << client.notes[0];
    ASSERT_EQ(client.lines.size(), 1U);
    EXPECT_TRUE(client.lines[0].starts_with("without stops the launch failed, with stops it did not: "))
        << client.lines[0];
}

/// Memory of a launch is copied once: its record shares the history's copy.
TEST_P(UsualCode, is_recorded_as_it_was_before_it_began) {
    class Looks final : public execution::LaunchObserver {
      public:
        void launch_begins(const execution::LaunchBegin& launch) override {
            has_copy = launch.memory != nullptr;
        }
        bool has_copy = false;
    } looks;
    observers = {&looks};
    (void)debug(storing_image(GetParam()), 5);
    EXPECT_TRUE(looks.has_copy);
    (void)launch(storing_image(GetParam()), nullptr, 5);
    EXPECT_FALSE(looks.has_copy);
}

}  // namespace
}  // namespace cudasim::debugger
