// When work in streams runs, and who is told of its errors (CUDA Driver API, "Stream Management").
#include "simulator/driver/stream_work.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>
#include <vector>

#include "simulator/driver/context.h"
#include "tests/simulator/driver/driver_errors.h"
#include "tests/simulator/driver/stream_host.h"
#include "tests/simulator/thread_sanitizer.h"

namespace cudasim::driver {
namespace {

using testing::message_of;
using namespace std::chrono_literals;
using streams::StreamKey;

const StreamKey first{0, 7}, second{0, 8}, on_other_device{1, 7};

StreamWork& work() {
    return StreamWork::of_this_process();
}

void fail(const std::string& reason) {
    throw Error("cuLaunchKernel", CudaResult::illegal_address, reason);
}

TEST(StreamWork, runs_at_once_on_the_thread_that_enqueues_it) {
    (void)HostOfTest::in_force();
    EXPECT_TRUE(work().runs_at_once());
    std::thread::id ran;
    EXPECT_TRUE(work().submit(first, [&] { ran = std::this_thread::get_id(); }, {}));
    EXPECT_EQ(ran, std::this_thread::get_id());
    EXPECT_EQ(message_of([&] { work().submit(first, [] { fail("a thread"); }, {.place = "f.py:3"}); }),
              error_text("cuLaunchKernel", CudaResult::illegal_address, "a thread"));
    EXPECT_FALSE(work().busy());
    work().synchronize(first);  // it was told at once
}

TEST(StreamWork, deferred_runs_when_its_stream_is_synchronised) {
    const Deferred deferred;
    EXPECT_FALSE(work().runs_at_once());
    std::vector<int> ran;
    const auto enqueue = [&](StreamKey stream, int number) {
        EXPECT_FALSE(work().submit(stream, [&ran, number] { ran.push_back(number); }, {}));
    };
    enqueue(first, 1);
    enqueue(second, 2);
    enqueue(on_other_device, 3);
    enqueue(first, 4);
    EXPECT_TRUE(ran.empty() && work().busy());
    work().synchronize(first);
    EXPECT_EQ(ran, (std::vector{1, 4}));
    work().synchronize(0);
    EXPECT_EQ(ran, (std::vector{1, 4, 2}));
    work().synchronize(std::nullopt);
    EXPECT_EQ(ran, (std::vector{1, 4, 2, 3}));
    EXPECT_FALSE(work().busy());
    enqueue(first, 5);
    EXPECT_TRUE(work().submit(first, [&] { ran.push_back(6); }, {.synchronous = true}));
    EXPECT_EQ(ran, (std::vector{1, 4, 2, 3, 5, 6}));
    enqueue(first, 7);
    enqueue(on_other_device, 8);
    work().drop(0);
    work().synchronize(std::nullopt);
    EXPECT_EQ(ran.back(), 8);
    EXPECT_EQ(ran.size(), 7U);
}

TEST(StreamWork, what_a_task_enqueues_or_synchronises_is_done_at_once) {
    const Deferred deferred;
    std::vector<int> ran;
    work().submit(first,
                  [&] {
                      EXPECT_TRUE(work().runs_at_once());
                      EXPECT_TRUE(work().submit(first, [&] { ran.push_back(1); }, {}));
                      work().synchronize(std::nullopt);  // of what waits nothing
                      ran.push_back(2);
                  },
                  {});
    work().submit(first, [&] { ran.push_back(3); }, {});
    work().synchronize(first);
    EXPECT_EQ(ran, (std::vector{1, 2, 3}));
}

TEST(StreamWork, errors_leave_the_call_that_synchronises_once) {
    const Deferred deferred;
    int ran = 0;
    work().submit(first, [] { fail("one"); }, {.place = "f.py:3"});
    work().submit(first, [&] { ++ran; }, {});  // depends on it
    work().submit(second, [] { fail("two"); }, {.place = "f.py:5"});
    work().submit(on_other_device, [] { throw std::logic_error("three"); }, {});
    try {
        work().synchronize(std::nullopt);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, CudaResult::illegal_address);
        EXPECT_EQ(error.call, "cuLaunchKernel");
        EXPECT_EQ(error.what(), error_text("cuLaunchKernel", CudaResult::illegal_address, "one") +
                                    "\nlaunched at f.py:3\nalso: " +
                                    error_text("cuLaunchKernel", CudaResult::illegal_address, "two") +
                                    "\nlaunched at f.py:5\nalso: three");
    }
    EXPECT_EQ(ran, 0);
    work().synchronize(std::nullopt);
    work().submit(first, [&] { ++ran; }, {});
    work().synchronize(first);
    EXPECT_EQ(ran, 1);
}

TEST(StreamWork, an_error_that_a_callback_threads_run_met_is_told_at_the_next_synchronisation) {
    const Deferred deferred;
    std::promise<int> seen;
    work().submit(first, [] { fail("early"); }, {});
    work().add_callback(first, [&](int status) { seen.set_value(status); });
    EXPECT_EQ(seen.get_future().get(), static_cast<int>(CudaResult::illegal_address));
    while (work().busy()) std::this_thread::sleep_for(1ms);
    EXPECT_NE(message_of([] { work().synchronize(second); }).find("early"), std::string::npos);
    work().synchronize(second);
}

TEST(StreamWork, callbacks_run_on_a_thread_of_their_own_and_may_not_call_CUDA) {
    (void)HostOfTest::in_force();
    std::thread::id ran;
    std::string refused;
    std::promise<void> may_go_on;
    std::vector<int> order;
    work().add_callback(first, [&, gate = may_go_on.get_future().share()](int status) {
        gate.wait();
        ran = std::this_thread::get_id();
        order.push_back(status);
        refused = message_of([] { work().synchronize(second); });
    });
    EXPECT_TRUE(work().busy());
    EXPECT_FALSE(work().runs_at_once());
    const auto operation = [&] {
        Event point(0, false);
        work().record(point, first);
        return point.pending();
    }();
    ASSERT_NE(operation, nullptr);
    EXPECT_FALSE(work().is_complete(operation));  // a callback holds it up
    std::thread opens([&] {
        std::this_thread::sleep_for(20ms);
        may_go_on.set_value();
    });
    EXPECT_TRUE(work().submit(first, [&] { order.push_back(1); }, {}));  // waits for its turn
    opens.join();
    EXPECT_EQ(order, (std::vector{0, 1}));
    EXPECT_NE(ran, std::this_thread::get_id());
    EXPECT_NE(refused.find("must not call CUDA"), std::string::npos) << refused;
    EXPECT_TRUE(work().is_complete(operation));
    work().synchronize(std::nullopt);
    EXPECT_FALSE(work().busy());
}

TEST(StreamWork, events_order_streams) {
    const Deferred deferred;
    std::vector<int> ran;
    Event point(0, false);
    work().submit(first, [&] { ran.push_back(1); }, {});
    work().record(point, first);
    ASSERT_NE(point.pending(), nullptr);
    work().wait_for(second, point.pending());
    work().submit(second, [&] { ran.push_back(2); }, {});
    work().synchronize(second);
    EXPECT_EQ(ran, (std::vector{1, 2}));
    EXPECT_EQ(point.pending(), nullptr);
    work().submit(first, [&] { ran.push_back(3); }, {});
    work().record(point, first);
    EXPECT_TRUE(work().is_complete(point.pending()));
    EXPECT_EQ(ran.back(), 3);
}

/// What Ctrl-C is to a Python program.
struct Interrupted {};

class InterruptedHost : public StreamHost {
  public:
    class Interruption : public TaskFailure {
      public:
        [[nodiscard]] int status() const override { return 999; }
        [[nodiscard]] std::string text() const override { return "interrupted"; }
        void add_line(const std::string&) override {}
        [[noreturn]] void raise() const override { throw Interrupted{}; }
        [[nodiscard]] bool ends_run() const override { return true; }
    };
    [[nodiscard]] bool deferred() const override { return true; }
    [[nodiscard]] streams::RunOptions run_options() const override {
        return {.poll = [this] { return poll(); }};
    }
    [[nodiscard]] std::unique_ptr<TaskFailure> caught() const override {
        try {
            throw;
        } catch (const Interrupted&) {
            return std::make_unique<Interruption>();
        } catch (...) {
            return StreamHost::caught();
        }
    }
    std::function<bool()> poll;
};

TEST(StreamWork, an_interruption_ends_the_run_and_drops_what_waits) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("a forked child must not start threads");
    // In a process of its own: hosts are never taken away. It ends without destructors:
    // the callback thread still runs.
    ASSERT_EXIT(
        {
            allow_use_after_fork();
            const auto host = std::make_shared<InterruptedHost>();
            StreamWork::set_host(host);
            int ran = 0;
            const auto is_interrupted = [&](auto&& body) {
                try {
                    body();
                } catch (const Interrupted&) {
                    return true;
                }
                return false;
            };
            work().submit(first, [] { throw Interrupted{}; }, {});
            work().submit(first, [&] { ++ran; }, {});
            work().submit(on_other_device, [&] { ++ran; }, {});
            if (!is_interrupted([] { work().synchronize(first); })) std::_Exit(1);
            if (work().busy() || ran != 0) std::_Exit(2);
            work().synchronize(std::nullopt);  // nobody else hears of it
            // The poll, while a callback keeps the host waiting; a handler of a signal may
            // not wait for its own thread.
            std::promise<void> may_end;
            std::string refused;
            host->poll = [&]() -> bool {
                refused = message_of([] { work().synchronize(second); });
                throw Interrupted{};
            };
            work().add_callback(first, [&](int) { may_end.get_future().wait(); });
            if (!is_interrupted([] { work().synchronize(first); })) std::_Exit(3);
            if (refused.find("by a signal handler") == std::string::npos) std::_Exit(4);
            may_end.set_value();
            std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST(StreamWork, finish_runs_everything_and_waits_for_callbacks) {
    const Deferred deferred;
    int ran = 0;
    work().submit(first, [&] { ++ran; }, {});
    work().submit(on_other_device, [] { fail("late"); }, {});
    EXPECT_NE(message_of([] { work().finish(); }).find("late"), std::string::npos);
    EXPECT_EQ(ran, 1);
    EXPECT_FALSE(work().busy());
    work().finish();
    // One that ends in its time, which is seconds.
    work().add_callback(first, [](int) { std::this_thread::sleep_for(200ms); });
    work().submit(first, [&] { ++ran; }, {});
    work().finish();
    EXPECT_EQ(ran, 2);
}

TEST(StreamWork, of_a_forked_process_is_its_own) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("a forked child must not start threads");
    const Deferred deferred;
    int ran = 0;
    work().submit(first, [&] { ++ran; }, {});
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        allow_use_after_fork();
        if (work().busy()) ::_exit(1);
        work().synchronize(std::nullopt);
        if (ran != 0) ::_exit(2);
        work().submit(first, [&] { ran = 5; }, {});
        std::promise<void> called;  // by a callback thread of its own
        work().add_callback(first, [&](int) { called.set_value(); });
        work().synchronize(first);
        if (called.get_future().wait_for(10s) != std::future_status::ready) ::_exit(3);
        ::_exit(ran == 5 ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    work().synchronize(first);
    EXPECT_EQ(ran, 1);
}

TEST(StreamWork, of_several_threads_runs_once_each_in_the_order_of_the_streams) {
    const Deferred deferred;
    constexpr int threads = 4, tasks = 200;
    std::atomic<int> ran{0}, disordered{0}, told{0};
    std::vector<std::thread> hosts;
    for (int i = 0; i < threads; ++i)
        hosts.emplace_back([&, i] {
            const StreamKey stream{i % 2, static_cast<std::uint64_t>(100 + i)};
            int last = -1;
            for (int task = 0; task < tasks; ++task) {
                work().submit(stream,
                              [&, task] {
                                  if (last != task - 1) ++disordered;
                                  last = task;
                                  ++ran;
                              },
                              {});
                if (task % 50 == 25) work().add_callback(stream, [&](int) { ++told; });
                if (task % 10 == 9) work().synchronize(stream);
            }
            work().synchronize(stream);
        });
    for (auto& host : hosts) host.join();
    EXPECT_EQ(ran, threads * tasks);
    EXPECT_EQ(disordered, 0);
    EXPECT_EQ(told, threads * 4);
}

}  // namespace
}  // namespace cudasim::driver
