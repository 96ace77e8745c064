// Errors that the processor finds and no check: they are told at the statement that failed, with its number,
// so that steps back from there come to the statements before.
#include "simulator/jit/standard_instrumentations.h"
#include "tests/debugger/control/control_client.h"

namespace cudasim::debugger {
namespace {

using execution::device;
using execution::DeviceArray;

/// A loop of seven rounds, six statements each, on lines 102 to 107; then a load from `wild` on line 108.
image::KernelImage loading_image() {
    return execution::with_lines(execution::ir_image(R"(
define void @k(ptr %order, ptr %wild) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  %place = getelementptr i32, ptr %order, i32 %i
  store i32 %i, ptr %place
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 7
  br i1 %more, label %head, label %end
end:
  %value = load i32, ptr %wild
  store i32 %value, ptr %order
  ret void
})"));
}

class ProcessorFault : public ControlTest {
  protected:
    struct Place {
        std::string stop;
        std::uint64_t count = 0;
        bool operator==(const Place&) const = default;
    };
    std::vector<Place> seen;

    void launch(const std::function<void(Control&)>& at_stop) {
        execution::LaunchOptions options = options_on(GetParam());
        options.compile.instrumentations.remove(jit::memory_checks());
        client.at_stop = [&](Control& control, const StopNotice&) {
            seen.push_back({client.stops.back(), control.launch().count()});
            at_stop(control);
        };
        Control control(client.session);
        options.stop_handler = &control;
        DeviceArray<std::uint32_t> order(7);
        const auto image = device().load(loading_image());
        const std::uint64_t parameters[2] = {order.pointer(), 4096};
        const auto result =
            device().launch(*image, "k", {{1}, {1}, 0}, std::as_bytes(std::span(parameters)), options);
        EXPECT_NE(result.error(), nullptr);
        values = order.read();
    }
    std::vector<std::uint32_t> values;
};
INSTANTIATE_TEST_SUITE_P(Carriers, ProcessorFault, ::testing::Values(On::looping_runner, On::fibers),
                         carrier_name);

TEST_P(ProcessorFault, is_told_at_its_statement_and_steps_lead_back_from_there) {
    launch([&](Control& control) {
        if (seen.size() <= 3)
            EXPECT_EQ(control.start_backward(BackwardKind::step, control.focus()), "");
        else
            control.go_on();
    });
    EXPECT_EQ(seen, (std::vector<Place>{{"exception 0:108", 43},
                                        {"step 0:108", 43},
                                        {"step 0:107", 42},
                                        {"step 0:106", 41},
                                        {"exception 0:108", 43}}));
    EXPECT_EQ(values, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST_P(ProcessorFault, is_met_again_behind_the_last_breakpoint_before_it) {
    client.session.breakpoints.set_lines(execution::kernel_file, {at_line(104)});
    launch([&](Control& control) {
        const bool is_error = client.stops.back().starts_with("exception");
        if (is_error && seen.size() < 10)
            EXPECT_EQ(control.start_backward(BackwardKind::go_on, control.focus()), "");
        else
            control.go_on();
    });
    ASSERT_EQ(seen.size(), 10U);
    EXPECT_EQ(seen[7], (Place{"exception 0:108", 43}));
    EXPECT_EQ(seen[8], (Place{"breakpoint 0:104", 39}));
    EXPECT_EQ(seen[9], (Place{"exception 0:108", 43}));
}

}  // namespace
}  // namespace cudasim::debugger
