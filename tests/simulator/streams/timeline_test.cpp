// The order in which enqueued work runs: CUDA Runtime API, "Stream synchronization behavior" and "Event
// management".
#include "simulator/streams/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

namespace cudasim::streams {
namespace {

using namespace std::chrono_literals;

class TimelineTest : public testing::Test {
  protected:
    Work note(const std::string& name, std::vector<OperationPtr> after = {}) {
        return {.task =
                    [this, name](int) {
                        order.push_back(name);
                        return Outcome{};
                    },
                .after = std::move(after)};
    }
    Work fail(int status) {
        return {.task = [status](int) { return Outcome{status}; }};
    }
    Work callback(const std::string& name, Clock::time_point due) {
        return {.task =
                    [this, name](int status) {
                        order.push_back(name + std::to_string(status));
                        return Outcome{};
                    },
                .callback = true,
                .due = due};
    }
    std::size_t position(const std::string& name) const {
        return static_cast<std::size_t>(std::ranges::find(order, name) - order.begin());
    }

    Timeline timeline;
    std::vector<std::string> order;
    const StreamKey legacy{0, StreamKey::legacy_default}, s1{0, 10}, s2{0, 20}, other_device{1, 30};
};

TEST_F(TimelineTest, nothing_runs_before_it_is_asked_for) {
    (void)timeline.enqueue(s1, note("a"));
    EXPECT_TRUE(order.empty());
    EXPECT_FALSE(timeline.idle());
    EXPECT_TRUE(timeline.run({timeline.tail(s1)}, {}));
    EXPECT_EQ(order, std::vector<std::string>{"a"});
    EXPECT_TRUE(timeline.idle());
    EXPECT_EQ(timeline.tail(s1), nullptr);
}

TEST_F(TimelineTest, a_stream_runs_in_order_and_others_stay_where_they_are) {
    for (int i = 0; i < 5; ++i) (void)timeline.enqueue(s1, note(std::to_string(i)));
    (void)timeline.enqueue(s2, note("other"));
    EXPECT_TRUE(timeline.run({timeline.tail(s1)}, {}));
    EXPECT_EQ(order, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
    EXPECT_NE(timeline.tail(s2), nullptr);
}

TEST_F(TimelineTest, a_target_in_the_middle_leaves_what_comes_after_it) {
    const auto first = timeline.enqueue(s1, note("first"));
    (void)timeline.enqueue(s1, note("second"));
    EXPECT_TRUE(timeline.run({first}, {}));
    EXPECT_EQ(order, std::vector<std::string>{"first"});
    EXPECT_TRUE(first->done());
}

TEST_F(TimelineTest, an_event_orders_streams_whatever_their_turns) {
    for (const auto turns : {StreamOrder::enqueued, StreamOrder::reverse, StreamOrder::random}) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            order.clear();
            (void)timeline.enqueue(s1, note("before"));
            const auto event = timeline.enqueue(s1, note("event"));
            (void)timeline.enqueue(s1, note("beside"));
            (void)timeline.enqueue(s2, {.after = {event}});
            (void)timeline.enqueue(s2, note("after"));
            EXPECT_TRUE(timeline.run(timeline.tails(), {.order = turns, .seed = seed}));
            ASSERT_EQ(order.size(), 4U);
            EXPECT_LT(position("event"), position("after"));
        }
    }
}

TEST_F(TimelineTest, streams_without_an_event_take_turns_in_the_order_asked_for) {
    const auto orders = [&](StreamOrder turns) {
        order.clear();
        (void)timeline.enqueue(s1, note("1"));
        (void)timeline.enqueue(s2, note("2"));
        EXPECT_TRUE(timeline.run(timeline.tails(), {.order = turns}));
        return order;
    };
    EXPECT_EQ(orders(StreamOrder::enqueued), (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(orders(StreamOrder::reverse), (std::vector<std::string>{"2", "1"}));
}

TEST_F(TimelineTest, the_legacy_default_stream_waits_for_all_of_its_device_and_they_for_it) {
    (void)timeline.enqueue(s1, note("s1"));
    (void)timeline.enqueue(other_device, note("elsewhere"));
    (void)timeline.enqueue(legacy, note("legacy"));
    (void)timeline.enqueue(s2, note("s2"));
    EXPECT_TRUE(timeline.run({timeline.tail(s2)}, {.order = StreamOrder::reverse}));
    EXPECT_EQ(order, (std::vector<std::string>{"s1", "legacy", "s2"}));
    EXPECT_EQ(timeline.tails(0).size(), 0U);
    EXPECT_EQ(timeline.tails(1).size(), 1U);
}

TEST_F(TimelineTest, what_depends_on_a_failure_does_not_run_and_later_work_does) {
    (void)timeline.enqueue(s1, fail(700));
    (void)timeline.enqueue(s1, note("dependent"));
    const auto event = timeline.tail(s1);
    (void)timeline.enqueue(s2, note("across", {event}));
    (void)timeline.enqueue({0, 40}, note("independent"));
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
    EXPECT_EQ(order, std::vector<std::string>{"independent"});
    (void)timeline.enqueue(s1, note("later"));
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
    EXPECT_EQ(order.back(), "later");
}

TEST_F(TimelineTest, a_task_that_stops_drops_what_waits) {
    (void)timeline.enqueue(s1, {.task = [](int) { return Outcome{0, true}; }});
    (void)timeline.enqueue(s1, note("never"));
    (void)timeline.enqueue(s2, note("maybe"));
    EXPECT_FALSE(timeline.run({timeline.tail(s1)}, {}));
    EXPECT_TRUE(timeline.idle());
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
    EXPECT_TRUE(order.empty());
}

TEST_F(TimelineTest, what_was_ready_when_a_task_stops_is_dropped_too) {
    (void)timeline.enqueue(s1, {.task = [](int) { return Outcome{0, true}; }});
    (void)timeline.enqueue(s2, note("never"));
    EXPECT_FALSE(timeline.run(timeline.tails(), {}));
    EXPECT_TRUE(order.empty());
}

TEST_F(TimelineTest, turns_follow_the_order_of_enqueueing_or_the_seed) {
    const auto orders = [&](StreamOrder turns, std::uint64_t seed) {
        order.clear();
        (void)timeline.enqueue(s2, note("first"));
        (void)timeline.enqueue(s1, note("second"));
        EXPECT_TRUE(timeline.run(timeline.tails(), {.order = turns, .seed = seed}));
        return order.front();
    };
    EXPECT_EQ(orders(StreamOrder::enqueued, 0), "first");
    EXPECT_EQ(orders(StreamOrder::reverse, 0), "second");
    int first = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) first += orders(StreamOrder::random, seed) == "first";
    EXPECT_TRUE(first > 2 && first < 18) << first;
}

TEST_F(TimelineTest, dropped_work_of_one_device_leaves_the_others) {
    for (int i = 0; i < 40; ++i) {  // a lattice: its paths are too many to walk one by one
        (void)timeline.enqueue(s1, note("0"));
        (void)timeline.enqueue(legacy, note("0"));
    }
    (void)timeline.enqueue(other_device, note("1"));
    timeline.drop(0);
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
    EXPECT_EQ(order, std::vector<std::string>{"1"});
}

TEST_F(TimelineTest, dropped_work_leaves_what_it_waited_for_on_another_device) {
    const auto before = timeline.enqueue(other_device, note("before"));
    (void)timeline.enqueue(s1, note("dropped", {before}));
    timeline.drop(0);
    EXPECT_FALSE(before->done());
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
    EXPECT_EQ(order, std::vector<std::string>{"before"});
}

TEST_F(TimelineTest, a_callback_is_not_handed_out_before_it_is_due) {
    (void)timeline.enqueue(s1, callback("callback", Clock::now() + 1h));
    EXPECT_EQ(timeline.next_callback(1ms), nullptr);
    (void)timeline.enqueue(s2, callback("due", Clock::now()));
    EXPECT_EQ(timeline.next_callback(1ms), nullptr) << "the first callback comes first";
    timeline.drop();
    EXPECT_TRUE(order.empty());
}

TEST_F(TimelineTest, a_callback_that_is_dropped_when_it_was_handed_out_already_does_not_run) {
    (void)timeline.enqueue(s1, callback("callback", Clock::now()));
    const auto handed_out = timeline.next_callback(1ms);
    ASSERT_NE(handed_out, nullptr);
    timeline.drop();
    timeline.run_callback(handed_out, {});
    EXPECT_TRUE(order.empty());
}

TEST_F(TimelineTest, the_poll_can_end_waiting_for_another_threads_run) {
    std::atomic<bool> begun{false}, release{false};
    const auto end = Clock::now() + 2s;
    const auto first = timeline.enqueue(s1, {.task = [&](int) {
                                            for (begun = true; !release && Clock::now() < end;)
                                                std::this_thread::sleep_for(1ms);
                                            return Outcome{};
                                        }});
    std::thread other([&] { (void)timeline.run({first}, {}); });
    while (!begun) std::this_thread::sleep_for(1ms);
    const auto never = timeline.enqueue(s2, note("never"));
    EXPECT_FALSE(timeline.run({never}, {.poll = [] { return true; }}));
    release = true;
    other.join();
    EXPECT_TRUE(order.empty());
}

TEST_F(TimelineTest, an_operation_knows_whether_it_waits_for_a_callback) {
    const auto before = timeline.enqueue(s1, note("before"));
    const auto own = timeline.enqueue(s1, callback("callback", Clock::now() + 1h));
    const auto behind = timeline.enqueue(s2, note("behind", {own}));
    const auto beside = timeline.enqueue(StreamKey{0, 40}, note("beside"));
    EXPECT_TRUE(timeline.waits_for_others(own) && timeline.waits_for_others(behind));
    EXPECT_FALSE(timeline.waits_for_others(before) || timeline.waits_for_others(beside));
    timeline.drop();
}

/// Tasks that go on in the background until they are released.
class InBackground : public TimelineTest {
  protected:
    Work background(int status = 0) {
        return {.task = [this, status](int) {
            return Outcome{.rest = [this, status] {
                while (!release) std::this_thread::sleep_for(1ms);
                return status;
            }};
        }};
    }
    ~InBackground() override {
        release = true;
        EXPECT_TRUE(timeline.wait_for_background({}, 10s));
        std::this_thread::sleep_for(20ms);  // the thread of the last one uses the timeline for a moment
    }
    const RunOptions patient{.poll = [end = Clock::now() + 10s] { return Clock::now() > end; }};
    std::atomic<bool> release{false};
};

TEST_F(InBackground, what_depends_on_it_waits_and_nothing_else) {
    const auto first = timeline.enqueue(s1, background());
    const auto behind = timeline.enqueue(s1, note("behind"));
    const auto beside = timeline.enqueue(s2, note("beside"));
    const auto of_both = timeline.enqueue(s2, note("of both", {first}));
    timeline.run_ready({});
    EXPECT_EQ(order, std::vector<std::string>{"beside"});
    EXPECT_TRUE(beside->done());
    EXPECT_FALSE(first->done() || behind->done() || of_both->done());
    EXPECT_TRUE(timeline.waits_for_others(behind) && timeline.waits_for_others(of_both));
    EXPECT_EQ(timeline.in_background(), 1U);
    release = true;
    EXPECT_TRUE(timeline.run({behind, of_both}, patient));
    EXPECT_EQ(order.size(), 3U);
    EXPECT_EQ(timeline.in_background(), 0U);
}

TEST_F(InBackground, another_thread_runs_its_work_while_one_waits_for_it) {
    const auto first = timeline.enqueue(s1, background());
    std::atomic<bool> waited{false};
    std::thread waiting([&] { waited = timeline.run({first}, patient); });
    while (timeline.waiting_for_background() == 0) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(timeline.run({timeline.enqueue(s2, note("other"))}, patient));
    EXPECT_FALSE(waited);
    release = true;
    waiting.join();
    EXPECT_TRUE(waited);
}

TEST_F(InBackground, its_thread_runs_what_was_left) {
    timeline.after_background([this] { timeline.run_ready({}); });
    (void)timeline.enqueue(s1, background());
    (void)timeline.enqueue(s1, note("a"));
    const auto last = timeline.enqueue(legacy, note("b"));
    timeline.run_ready({});
    EXPECT_TRUE(order.empty());
    release = true;
    const auto end = Clock::now() + 10s;
    while (!last->done() && Clock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(order, (std::vector<std::string>{"a", "b"}));
}

TEST_F(InBackground, its_failure_is_that_of_what_depends_on_it) {
    (void)timeline.enqueue(s1, background(700));
    (void)timeline.enqueue(s1, note("never"));
    release = true;
    EXPECT_TRUE(timeline.run(timeline.tails(), patient));
    EXPECT_TRUE(order.empty());
}

TEST_F(InBackground, work_that_has_begun_already) {
    timeline.go_on_in_background(s1, [this] {
        while (!release) std::this_thread::sleep_for(1ms);
        return 0;
    });
    EXPECT_FALSE(timeline.idle());
    const auto behind = timeline.enqueue(s1, note("behind"));
    EXPECT_FALSE(timeline.wait_for_background(0, 5ms));
    EXPECT_TRUE(timeline.wait_for_background(1, 5ms));
    release = true;
    EXPECT_TRUE(timeline.run({behind}, patient));
    EXPECT_EQ(order, std::vector<std::string>{"behind"});
}

TEST_F(InBackground, a_callback_behind_it_does_not_hold_up_another_one) {
    (void)timeline.enqueue(s1, background());
    (void)timeline.enqueue(s1, callback("behind", Clock::now()));
    timeline.run_ready({});
    (void)timeline.enqueue(s2, callback("beside", Clock::now()));
    const auto beside = timeline.next_callback(1s);
    ASSERT_TRUE(beside);
    timeline.run_callback(beside, {});
    EXPECT_EQ(order, std::vector<std::string>{"beside0"});
    EXPECT_FALSE(timeline.next_callback(1ms));
    release = true;
    const auto behind = timeline.next_callback(10s);
    ASSERT_TRUE(behind);
    timeline.run_callback(behind, {});
    EXPECT_EQ(order.back(), "behind0");
}

TEST_F(TimelineTest, a_stream_that_does_not_block_is_not_ordered_with_the_default_stream) {
    timeline.set_non_blocking(s1);
    (void)timeline.enqueue(s1, note("own"));
    (void)timeline.enqueue(s2, note("blocking"));
    EXPECT_TRUE(timeline.run({timeline.enqueue(legacy, note("default"))}, {}));
    EXPECT_EQ(order, (std::vector<std::string>{"blocking", "default"}));
    EXPECT_TRUE(timeline.tails_before_default(0).empty());
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
}

/// The callback thread as the bindings run it.
class WithCallbacks : public TimelineTest {
  protected:
    void serve(std::size_t count) {
        thread = std::thread([this, count] {
            for (std::size_t done = 0; done < count;) {
                if (const auto callback = timeline.next_callback(20ms)) {
                    timeline.run_callback(callback, {});
                    ++done;
                }
            }
        });
    }
    ~WithCallbacks() override {
        if (thread.joinable()) thread.join();
    }
    std::thread thread;
};

TEST_F(WithCallbacks, a_callback_blocks_its_stream_and_runs_elsewhere) {
    std::thread::id where;
    (void)timeline.enqueue(s1, note("before"));
    (void)timeline.enqueue(s1, {.task =
                                    [&](int) {
                                        where = std::this_thread::get_id();
                                        std::this_thread::sleep_for(20ms);
                                        order.push_back("callback");
                                        return Outcome{};
                                    },
                                .callback = true,
                                .due = Clock::now() + 1h});
    (void)timeline.enqueue(s1, note("after"));
    serve(1);
    EXPECT_TRUE(timeline.run({timeline.tail(s1)}, {}));
    EXPECT_EQ(order, (std::vector<std::string>{"before", "callback", "after"}));
    EXPECT_NE(where, std::this_thread::get_id());
}

TEST_F(WithCallbacks, a_callback_nobody_waits_for_runs_when_it_is_due) {
    (void)timeline.enqueue(s1, note("before"));
    (void)timeline.enqueue(s1, callback("callback", Clock::now() + 10ms));
    const auto last = timeline.tail(s1);
    serve(1);
    for (int i = 0; i < 1000 && !last->done(); ++i) std::this_thread::sleep_for(5ms);
    ASSERT_TRUE(last->done());
    EXPECT_EQ(order, (std::vector<std::string>{"before", "callback0"}));
}

TEST_F(WithCallbacks, a_callback_that_becomes_due_while_a_run_comes_to_it) {
    (void)timeline.enqueue(s1, {.task = [](int) {
                               std::this_thread::sleep_for(50ms);
                               return Outcome{};
                           }});
    (void)timeline.enqueue(s1, callback("callback", Clock::now() + 5ms));
    serve(1);
    const auto end = Clock::now() + 10s;
    EXPECT_TRUE(timeline.run({timeline.tail(s1)}, {.poll = [&] { return Clock::now() > end; }}));
}

TEST_F(WithCallbacks, a_callback_waits_for_one_before_it_that_is_due_later) {
    (void)timeline.enqueue(s1, callback("first", Clock::now() + 100ms));
    (void)timeline.enqueue(s2, callback("second", Clock::now()));
    (void)timeline.enqueue(s2, {.after = {timeline.tail(s1)}});
    (void)timeline.enqueue(s2, callback("third", Clock::now()));
    serve(3);
    thread.join();
    EXPECT_LT(position("first0"), position("third0"));
}

TEST_F(WithCallbacks, a_callback_that_is_due_gives_way_to_one_that_is_waited_for) {
    const auto sleeps = [](int) {
        std::this_thread::sleep_for(60ms);
        return Outcome{};
    };
    (void)timeline.enqueue(s1, note("before"));
    (void)timeline.enqueue(s1, callback("due", Clock::now()));
    (void)timeline.enqueue(s2, {.task = sleeps});
    (void)timeline.enqueue(s2, callback("waited for", Clock::now() + 1h));
    std::atomic<bool> stop{false};
    thread = std::thread([&] {
        std::this_thread::sleep_for(20ms);  // the run of s2 has begun
        while (!stop)
            if (const auto next = timeline.next_callback(5ms)) timeline.run_callback(next, {});
    });
    const auto end = Clock::now() + 10s;
    const RunOptions patient{.poll = [&] { return Clock::now() > end; }};
    EXPECT_TRUE(timeline.run({timeline.tail(s2)}, patient));
    EXPECT_TRUE(timeline.run({timeline.tail(s1)}, patient));
    stop = true;
    thread.join();
    EXPECT_EQ(order, (std::vector<std::string>{"waited for0", "before", "due0"}));
}

TEST_F(WithCallbacks, callbacks_learn_of_failures_before_them) {
    (void)timeline.enqueue(s1, fail(719));
    (void)timeline.enqueue(s1, callback("callback", Clock::now() + 1h));
    serve(1);
    EXPECT_TRUE(timeline.run({timeline.tail(s1)}, {}));
    EXPECT_EQ(order, std::vector<std::string>{"callback719"});
}

TEST_F(WithCallbacks, the_poll_can_end_waiting_for_a_callback) {
    std::atomic<bool> release{false};
    (void)timeline.enqueue(s1, {.task =
                                    [&](int) {
                                        while (!release) std::this_thread::sleep_for(1ms);
                                        return Outcome{};
                                    },
                                .callback = true});
    serve(1);
    int polls = 0;
    EXPECT_FALSE(timeline.run({timeline.tail(s1)}, {.poll = [&] { return ++polls == 2; }}));
    release = true;
    thread.join();
}

TEST_F(TimelineTest, threads_enqueue_and_run_at_once) {
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; ++i) {
                const StreamKey stream{0, i % 7 == 0 ? StreamKey::legacy_default : 100 + t};
                (void)timeline.enqueue(stream, {.task = [&](int) {
                                           ++done;
                                           return Outcome{};
                                       }});
                if (i % 5 == 0) {
                    EXPECT_TRUE(timeline.run({timeline.tail(stream)}, {}));
                }
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
    EXPECT_EQ(done, 800);
}

}  // namespace
}  // namespace cudasim::streams
