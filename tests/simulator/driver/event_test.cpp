// Events and the handles of default streams (CUDA Driver API, "Event Management",
// "Stream synchronization behavior").
#include "simulator/driver/event.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/simulator/driver/driver_errors.h"

namespace cudasim::driver {
namespace {

using streams::Outcome;
using streams::StreamKey;
using streams::Timeline;
using testing::result_of;

TEST(StreamKey, of_default_streams) {
    EXPECT_EQ(stream_key(1, 0), stream_key(1, legacy_stream));
    EXPECT_NE(stream_key(1, 0), stream_key(0, 0));
    EXPECT_EQ(stream_key(0, 0x1234), (StreamKey{0, 0x1234}));
    const auto mine = stream_key(0, per_thread_stream);
    EXPECT_EQ(mine, stream_key(0, per_thread_stream));
    EXPECT_NE(mine, stream_key(0, 0));
    std::thread other([&] { EXPECT_NE(mine, stream_key(0, per_thread_stream)); });
    other.join();
}

TEST(Event, is_at_its_point_when_the_stream_has_come_there) {
    Timeline timeline;
    Event start(0, true), end(0, true);
    EXPECT_EQ(start.pending(), nullptr);  // as CUDA has it for events that were never recorded
    const StreamKey stream{0, 7};
    start.record(timeline, stream, true);
    EXPECT_EQ(start.pending(), nullptr);
    bool ran = false;
    (void)timeline.enqueue(stream, {.task = [&](int) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(5));
                               ran = true;
                               return Outcome{};
                           }});
    end.record(timeline, stream, false);
    ASSERT_NE(end.pending(), nullptr);
    EXPECT_EQ(result_of([&] { (void)Event::elapsed_milliseconds(start, end); }), CudaResult::not_ready);
    EXPECT_EQ(result_of([&] { (void)Event::elapsed_milliseconds(end, start); }), CudaResult::not_ready);
    EXPECT_TRUE(timeline.run({end.pending()}, {}));
    EXPECT_TRUE(ran);
    EXPECT_EQ(end.pending(), nullptr);
    EXPECT_GE(Event::elapsed_milliseconds(start, end), 5.0);
    EXPECT_LE(Event::elapsed_milliseconds(end, start), -5.0);
    end.record(timeline, stream, false);  // the last recording counts
    EXPECT_NE(end.pending(), nullptr);
    timeline.drop();
}

TEST(Event, refuses_what_cuda_refuses) {
    Timeline timeline;
    Event start(0, true), silent(0, false), other(1, true), never(0, true);
    start.record(timeline, {0, 0}, true);
    silent.record(timeline, {0, 0}, true);
    EXPECT_EQ(result_of([&] { other.record(timeline, {0, 0}, true); }), CudaResult::invalid_handle);
    other.record(timeline, {1, 0}, true);
    for (const Event* wrong : {&silent, &other, &never}) {
        EXPECT_EQ(result_of([&] { (void)Event::elapsed_milliseconds(start, *wrong); }),
                  CudaResult::invalid_handle);
        EXPECT_EQ(result_of([&] { (void)Event::elapsed_milliseconds(*wrong, start); }),
                  CudaResult::invalid_handle);
    }
    EXPECT_GE(Event::elapsed_milliseconds(start, start), 0.0);
}

TEST(Event, may_go_before_its_stream_has_come_to_the_point) {
    Timeline timeline;
    {
        Event passing(0, true);
        passing.record(timeline, {0, 3}, false);
    }
    EXPECT_TRUE(timeline.run(timeline.tails(), {}));
}

TEST(HostThreads, record_and_ask_one_event) {
    Timeline timeline;
    Event start(0, true), shared(0, true);
    start.record(timeline, {0, 0}, true);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 100; ++round) {
                shared.record(timeline, {0, static_cast<std::uint64_t>(10 + i)}, false);
                if (const auto pending = shared.pending()) timeline.run({pending}, {});
                (void)result_of([&] { (void)Event::elapsed_milliseconds(start, shared); });
            }
        });
    for (auto& thread : threads) thread.join();
    timeline.run(timeline.tails(), {});
    EXPECT_GE(Event::elapsed_milliseconds(start, shared), 0.0);
}

}  // namespace
}  // namespace cudasim::driver
