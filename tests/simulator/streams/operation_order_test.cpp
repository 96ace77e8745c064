// Which operations of streams are ordered.
#include "simulator/streams/operation_order.h"

#include <gtest/gtest.h>

namespace cudasim::streams {
namespace {

constexpr StreamKey legacy{0, 0}, first{0, 10}, second{0, 11}, elsewhere{1, 12};

class Order : public testing::Test {
  protected:
    Order() { order.keep(); }
    OperationOrder::Number add(StreamKey stream) { return order.enqueue(stream, ""); }
    OperationOrder order;
};

TEST_F(Order, of_one_stream_is_that_of_enqueueing) {
    const auto a = add(first), b = add(first);
    EXPECT_TRUE(order.is_before(a, b));
    EXPECT_FALSE(order.is_before(b, a));
}

TEST_F(Order, of_two_streams_needs_an_event_that_was_recorded_behind_the_first) {
    const auto a = add(first);
    order.record(7, first);
    const auto later = add(first);
    const auto unordered = add(second);
    order.wait(second, 7);
    const auto b = add(second);
    EXPECT_FALSE(order.is_before(a, unordered));
    EXPECT_TRUE(order.is_before(a, b));
    EXPECT_FALSE(order.is_before(later, b));
    EXPECT_TRUE(order.is_before(unordered, b));
}

TEST_F(Order, passes_through_a_third_stream) {
    const StreamKey third{0, 13};
    const auto a = add(first);
    order.record(1, first);
    order.wait(second, 1);
    order.record(2, second);
    order.wait(third, 2);
    EXPECT_TRUE(order.is_before(a, add(third)));
}

TEST_F(Order, of_the_legacy_stream_is_with_all_of_its_device) {
    const auto a = add(first);
    const auto middle = add(legacy);
    const auto b = add(second);
    const auto other = add(elsewhere);
    EXPECT_TRUE(order.is_before(a, middle));
    EXPECT_TRUE(order.is_before(middle, b));
    EXPECT_TRUE(order.is_before(a, b));
    EXPECT_FALSE(order.is_before(a, other));
}

TEST_F(Order, of_the_legacy_stream_is_not_with_non_blocking_ones) {
    order.set_non_blocking(second);
    const auto apart = add(second);
    const auto a = add(first);
    const auto middle = add(legacy);
    const auto b = add(second);
    EXPECT_TRUE(order.is_before(a, middle));
    EXPECT_FALSE(order.is_before(apart, middle));
    EXPECT_FALSE(order.is_before(middle, b));
    EXPECT_TRUE(order.is_before(apart, b));
}

TEST_F(Order, comes_from_what_the_host_has_waited_for) {
    const auto a = add(first);
    order.host_waits(second);
    EXPECT_FALSE(order.host_has_waited(a));
    EXPECT_FALSE(order.is_before(a, add(second)));
    order.host_waits(first);
    EXPECT_TRUE(order.host_has_waited(a));
    EXPECT_TRUE(order.is_before(a, add(second)));
}

TEST_F(Order, a_device_is_waited_for_as_a_whole) {
    const auto a = add(first), b = add(elsewhere);
    order.host_waits(std::optional(0));
    EXPECT_TRUE(order.host_has_waited(a));
    EXPECT_FALSE(order.host_has_waited(b));
    order.host_waits(std::optional<int>());
    EXPECT_TRUE(order.host_has_waited(b));
}

TEST_F(Order, an_event_is_waited_for_as_it_was_recorded) {
    const auto a = add(first);
    order.record(3, first);
    const auto b = add(first);
    order.host_waits_for_event(3);
    EXPECT_TRUE(order.host_has_waited(a));
    EXPECT_FALSE(order.host_has_waited(b));
}

TEST_F(Order, an_operation_waits_for_nothing) {
    const auto a = add(first), b = add(second);
    const OperationOrder::Running running(order, b);
    EXPECT_EQ(OperationOrder::running(), b);
    order.host_waits(first);
    EXPECT_FALSE(order.host_has_waited(a));
}

TEST_F(Order, what_is_over_is_forgotten_unless_something_waits_that_is_not_behind_it) {
    const auto a = add(first);
    const auto waiting = add(second);
    order.host_waits(first);
    EXPECT_FALSE(order.is_over(a));
    order.finish(waiting);
    EXPECT_TRUE(order.is_over(a));
}

TEST_F(Order, of_many_operations_keeps_those_that_matter) {
    const auto open = add(second);
    for (int i = 0; i < 1000; ++i) {
        order.finish(add(first));
        order.host_waits(first);
    }
    EXPECT_FALSE(order.is_before(open, add(first)));
    EXPECT_FALSE(order.is_over(open));
}

TEST_F(Order, that_is_forgotten_has_everything_done) {
    const auto a = add(first);
    order.forget();
    EXPECT_FALSE(order.is_kept());
    order.keep();
    EXPECT_TRUE(order.is_before(a, add(second)));
    EXPECT_TRUE(order.host_has_waited(a));
}

TEST(OperationOrder, notes_nothing_before_it_is_kept) {
    OperationOrder order;
    order.record(1, first);
    EXPECT_FALSE(order.is_kept());
    EXPECT_TRUE(order.is_before(1, 2));
}

}  // namespace
}  // namespace cudasim::streams
