// The program's own calls of a debugger, `breakpoint()`: statements of their own in code that is compiled for
// stops, and nothing elsewhere.
#include <functional>

#include "tests/debugger/control/control_client.h"

namespace cudasim::debugger {
namespace {

using execution::kernel_file;

class CallsClient final : public QuietClient {
  public:
    std::vector<std::string> stops;  ///< "thread:line ids"
    std::function<void()> at_stop;

    void launch_begins(const Control& control) override {
        for (const KernelCode::Line& call : control.code().calls()) lines.push_back(call.line);
    }
    void stopped(Control& control, const StopNotice& notice) override {
        EXPECT_EQ(notice.reason, StopReason::breakpoint);
        std::string text = std::to_string(control.focus().thread) + ":" +
                           std::to_string(control.launch().location(control.focus()).front().line);
        for (const std::int64_t id : notice.hit_breakpoints)
            text += " " + std::to_string(id < first_call ? id : id - first_call + 100);
        stops.push_back(text);
        answer([this](Control& stopped) {
            if (at_stop) at_stop();
            stopped.go_on();
        });
    }
    std::vector<std::uint32_t> lines;
};

/// Threads 1 and 2 call it, on line 204, once in front of a barrier and once behind it; @f, on line 101, in
/// thread 2.
image::KernelImage calling_image() {
    return execution::with_lines(execution::ir_image(R"(
declare void @__cudasim_breakpoint()
define internal void @f(i1 %stops) {
  br i1 %stops, label %then, label %end
then:
  call void @__cudasim_breakpoint()
  br label %end
end:
  ret void
}
define void @k(ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %one = icmp eq i32 %t, 1
  %two = icmp eq i32 %t, 2
  %any = or i1 %one, %two
  call void @f(i1 %two)
  br i1 %any, label %then, label %wait
then:
  call void @__cudasim_breakpoint()
  br label %wait
wait:
  call void @llvm.nvvm.barrier0()
  %place = getelementptr i32, ptr %out, i32 %t
  store i32 %t, ptr %place, align 4
  ret void
})"));
}

class Calls : public ::testing::Test {
  protected:
    void run(bool stops = true) {
        execution::DeviceArray<std::uint32_t> array(4);
        const auto image = execution::device().load(calling_image());
        const std::uint64_t parameters[1] = {array.pointer()};
        execution::LaunchOptions options;
        Control control(client.session);
        if (stops) options.stop_handler = &control;
        const auto result = execution::device().launch(*image, "k", {{1}, {4}, 0},
                                                       std::as_bytes(std::span(parameters)), options);
        EXPECT_EQ(execution::messages(result), "");
        EXPECT_EQ(array.read(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
    }
    using Stops = std::vector<std::string>;
    CallsClient client;
};

TEST_F(Calls, stop_every_thread_that_comes_to_one) {
    run();
    ASSERT_EQ(client.lines.size(), 2U);
    ASSERT_EQ(client.stops.size(), 3U);
    const std::string in_f = std::to_string(client.lines[0]), in_k = std::to_string(client.lines[1]);
    EXPECT_EQ(client.stops, (Stops{"1:" + in_k + " 101", "2:" + in_f + " 100", "2:" + in_k + " 101"}));
}

TEST_F(Calls, are_nothing_without_a_handler) {
    run(false);
    EXPECT_EQ(client.stops, Stops{});
}

TEST_F(Calls, keep_their_numbers_from_launch_to_launch_and_their_clients) {
    run();
    client.session.breakpoints.clear();
    run();
    ASSERT_EQ(client.stops.size(), 6U);
    EXPECT_EQ(client.stops[0], client.stops[3]);
    EXPECT_EQ(client.stops[1], client.stops[4]);
}

TEST_F(Calls, can_be_silenced_one_by_one_and_all) {
    run();
    const std::uint32_t in_k = client.lines[1];
    client.stops.clear();
    client.session.breakpoints.silence({{kernel_file, in_k}});
    run();
    ASSERT_EQ(client.stops.size(), 1U);
    EXPECT_EQ(client.stops[0], "2:" + std::to_string(client.lines[0]) + " 100");
    client.session.breakpoints.silence({});
    client.session.calls_stop = false;
    run();
    EXPECT_EQ(client.stops.size(), 1U);
}

TEST_F(Calls, are_silenced_while_the_launch_stands_at_one) {
    client.at_stop = [&] {
        client.session.breakpoints.silence({{kernel_file, client.lines[0]}, {kernel_file, client.lines[1]}});
        client.session.tell_of_changes();
    };
    run();
    EXPECT_EQ(client.stops.size(), 1U);
}

TEST_F(Calls, and_breakpoints_at_their_line_stop_together) {
    run();
    client.stops.clear();
    BreakpointRequest request;
    request.file = kernel_file;
    request.line = client.lines[1];
    client.session.breakpoints.set_lines(kernel_file, {request});
    run();
    ASSERT_EQ(client.stops.size(), 3U);
    EXPECT_EQ(client.stops[0], "1:" + std::to_string(client.lines[1]) + " 101 1");
}

TEST_F(Calls, stop_nobody_without_a_client) {
    client.session.end();
    run();
    EXPECT_EQ(client.stops, Stops{});
}

}  // namespace
}  // namespace cudasim::debugger
