// Stops (stop.h): a thread stops at a statement, everything else holds, and the handler looks, moves threads
// and ends. On every carrier: looping runners, coroutines, those whose lanes meet, fibers, and host code.
#include "simulator/execution/stop.h"

#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include "simulator/execution/loaded_image.h"
#include "simulator/jit/object_cache.h"
#include "tests/simulator/execution/carriers.h"

namespace cudasim::execution {
namespace {

/// A handler made of two functions.
class Handler final : public StopHandler {
  public:
    std::function<void(StoppedLaunch&)> begins = [](StoppedLaunch&) {};
    std::function<void(StoppedLaunch&)> at_stop = [](StoppedLaunch&) {};
    int stops = 0;

    void launch_begins(StoppedLaunch& launch) override { begins(launch); }
    void stopped(StoppedLaunch& launch) override {
        ++stops;
        at_stop(launch);
    }
};

class Stops : public ::testing::TestWithParam<On> {
  protected:
    [[nodiscard]] LaunchOptions options() const {
        LaunchOptions options = options_on(GetParam());
        options.stop_handler = &handler;
        return options;
    }
    [[nodiscard]] static image::KernelImage two_rounds() { return execution::two_rounds(GetParam()); }
    LaunchResult run(const image::KernelImage& image, std::uint32_t blocks, std::uint32_t threads,
                     DevicePointer array, const LaunchOptions& options) {
        image_ = device().load(image);
        const std::uint64_t parameters[1] = {array};
        return device().launch(*image_, "k", {{blocks}, {threads}, 0}, std::as_bytes(std::span(parameters)),
                               options);
    }
    /// As two_rounds() leaves it.
    std::vector<std::uint32_t> order(std::uint32_t threads) {
        DeviceArray<std::uint32_t> array(2 * threads + 1);
        result = run(two_rounds(), 1, threads, array.pointer(), options());
        std::vector<std::uint32_t> values = array.read();
        values.erase(values.begin());
        return values;
    }
    static std::vector<std::uint32_t> rounds(std::initializer_list<std::uint32_t> first,
                                             std::initializer_list<std::uint32_t> second) {
        std::vector<std::uint32_t> all(first);
        all.insert(all.end(), second);
        return all;
    }

    mutable Handler handler;
    LaunchResult result;
    std::shared_ptr<LoadedImage> image_;
};
INSTANTIATE_TEST_SUITE_P(Carriers, Stops, all_carriers, carrier_name);

TEST_P(Stops, happen_at_the_line_that_is_asked_for_and_for_each_thread) {
    std::vector<std::uint32_t> seen;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 104); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        seen.push_back(launch.stopped_thread().thread);
        const findings::CallChain place = launch.location(launch.stopped_thread());
        ASSERT_EQ(place.size(), 2U);  // @append is inlined
        EXPECT_EQ(place[0].function, "append");
        EXPECT_EQ(place[0].line, 104U);
        EXPECT_EQ(place[1].line, handler.stops <= 3 ? 202U : 204U);
        EXPECT_EQ(place[1].function, "k");
    };
    EXPECT_EQ(order(3), rounds({0, 1, 2}, {0, 1, 2})) << messages(result);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(seen, rounds({0, 1, 2}, {0, 1, 2}));
}

TEST_P(Stops, do_not_change_the_order_when_nobody_is_chosen) {
    handler.begins = [](StoppedLaunch& launch) { launch.stop_everywhere(); };
    std::vector<std::uint32_t> stopped = order(70);
    EXPECT_GT(handler.stops, 70 * 10);
    LaunchOptions plain = options();
    plain.stop_handler = nullptr;
    plain.workers = 1;
    DeviceArray<std::uint32_t> array(141);
    (void)run(two_rounds(), 1, 70, array.pointer(), plain);
    EXPECT_EQ(stopped, std::vector<std::uint32_t>(array.read().begin() + 1, array.read().end()));
}

TEST_P(Stops, let_the_handler_move_another_thread_while_the_stopped_one_holds) {
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 202); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        // Thread 0 is about to enter @append; thread 2 comes to the same line, and then to its wait.
        EXPECT_EQ(launch.state({0, 0}), ThreadState::stopped);
        EXPECT_EQ(launch.state({0, 2}), ThreadState::not_started);
        EXPECT_EQ(launch.run({0, 2}), ThreadState::stopped);
        EXPECT_EQ(launch.stopped_thread(), (ThreadRef{0, 2}));
        EXPECT_EQ(launch.state({0, 0}), ThreadState::stopped);
        EXPECT_EQ(launch.run({0, 2}),
                  GetParam() == On::lanes ? ThreadState::in_warp : ThreadState::at_barrier);
        EXPECT_EQ(launch.run({0, 2}), launch.state({0, 2}));  // it cannot go on alone
        EXPECT_EQ(launch.location({0, 2}).front().line, 203U);
        EXPECT_EQ(launch.run({0, 7}), ThreadState::absent);
        EXPECT_EQ(launch.run({1, 0}), ThreadState::absent);
        launch.stop_at(kernel_file, 202, false);
    };
    EXPECT_EQ(order(4), rounds({2, 0, 1, 3}, {0, 1, 2, 3})) << messages(result);
    EXPECT_EQ(messages(result), "");
}

TEST_P(Stops, let_the_stopped_thread_go_on_before_all_others) {
    // In the second round, in which fibers have their turns in a batch.
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 204); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        EXPECT_EQ(launch.stopped_thread(), (ThreadRef{0, 0}));
        launch.stop_at(kernel_file, 204, false);
        EXPECT_EQ(launch.run({0, 2}), ThreadState::over);
    };
    EXPECT_EQ(order(4), rounds({0, 1, 2, 3}, {2, 0, 1, 3})) << messages(result);
    EXPECT_EQ(handler.stops, 1);
    EXPECT_EQ(messages(result), "");
}

TEST_P(Stops, let_the_handler_run_the_whole_launch_in_any_order) {
    handler.begins = [](StoppedLaunch& launch) { launch.stop_everywhere(); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        for (bool any = true; any;) {
            any = false;
            for (std::uint32_t thread = 5; thread-- > 0;) {
                while (launch.state({0, thread}) <= ThreadState::spins) {
                    (void)launch.run({0, thread});
                    any = true;
                }
            }
        }
        for (std::uint32_t thread = 0; thread < 5; ++thread)
            EXPECT_EQ(launch.state({0, thread}), ThreadState::over);
    };
    // Thread 0 comes last and goes on at once.
    EXPECT_EQ(order(5), rounds({4, 3, 2, 1, 0}, {0, 4, 3, 2, 1})) << messages(result);
    EXPECT_EQ(handler.stops, 1);
    EXPECT_EQ(messages(result), "");
}

TEST_P(Stops, show_what_threads_have_written_and_take_what_the_handler_writes) {
    DevicePointer array = 0;
    std::vector<std::uint32_t> counts;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 106); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        std::uint32_t count = 0;
        const ThreadRef thread = launch.stopped_thread();
        ASSERT_TRUE(launch.read(thread, array, std::as_writable_bytes(std::span(&count, 1))));
        counts.push_back(count);
        EXPECT_FALSE(launch.read(thread, 16, std::as_writable_bytes(std::span(&count, 1))));
        // The next thread goes on from there.
        count += 1;
        ASSERT_TRUE(launch.write(thread, array, std::as_bytes(std::span(&count, 1))));
    };
    DeviceArray<std::uint32_t> memory(32);
    array = memory.pointer();
    result = run(two_rounds(), 1, 2, array, options());
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(counts, (std::vector<std::uint32_t>{1, 3, 5, 7}));
    EXPECT_EQ(memory.read()[0], 8U);
}

/// Of a thread, as "frame: name = value".
std::vector<std::string> variables_of(const StoppedLaunch& launch, ThreadRef thread) {
    std::vector<std::string> texts;
    for (const findings::VariableValue& variable : launch.variables(thread)) {
        EXPECT_TRUE(variable.known);
        std::int32_t value = 0;
        EXPECT_EQ(variable.bytes.size(), sizeof value);
        std::memcpy(&value, variable.bytes.data(), sizeof value);
        texts.push_back(std::to_string(variable.frame) + ": " + variable.name + " = " +
                        std::to_string(value));
    }
    std::ranges::sort(texts);
    return texts;
}

using Texts = std::vector<std::string>;

bool set(StoppedLaunch& launch, ThreadRef thread, std::uint32_t frame, std::string_view name,
         std::int32_t value) {
    return launch.set_variable(thread, frame, name, std::as_bytes(std::span(&value, 1)));
}

TEST_P(Stops, show_and_change_the_variables_of_every_thread_in_every_inlined_function) {
    const auto image = with_lines(ir_image(std::string(R"(
define internal i32 @twice(i32 %v) {
  %y = alloca i32, align 4
  br label %body
body:
  store i32 %v, ptr %y, align 4
  %l = load i32, ptr %y, align 4
  %d = mul i32 %l, 2
  ret i32 %d
}
define void @k(ptr %out) {
  %x = alloca i32, align 4
  br label %body
body:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr %x, align 4
  %a = load i32, ptr %x, align 4
  %d = call i32 @twice(i32 %a)
  store i32 %d, ptr %x, align 4
  )") + wait_on(GetParam()) + R"(
  %b = load i32, ptr %x, align 4
  %place = getelementptr i32, ptr %out, i32 %t
  store i32 %b, ptr %place, align 4
  ret void
})"));
    handler.begins = [](StoppedLaunch& launch) {
        for (const std::uint32_t line : {104U, 203U, 205U}) launch.stop_at(kernel_file, line);
    };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        const ThreadRef first{0, 0}, third{0, 2};
        EXPECT_EQ(variables_of(launch, first), Texts{});  // line 203: not assigned yet
        EXPECT_FALSE(set(launch, first, 0, "x", 1));
        EXPECT_EQ(launch.run(first), ThreadState::stopped);
        EXPECT_EQ(variables_of(launch, first), (Texts{"0: x = 0"}));
        EXPECT_EQ(launch.run(first), ThreadState::stopped);
        EXPECT_EQ(launch.location(first).size(), 2U);
        EXPECT_EQ(variables_of(launch, first), (Texts{"0: y = 0", "1: x = 0"}));
        EXPECT_EQ(variables_of(launch, third), Texts{});
        EXPECT_TRUE(set(launch, first, 0, "y", 30));
        EXPECT_FALSE(set(launch, first, 1, "y", 30));
        EXPECT_FALSE(set(launch, first, 2, "x", 30));
        EXPECT_FALSE(launch.set_variable(first, 0, "y", std::as_bytes(std::span("eight b", 8))));
        for (int line = 0; line < 3; ++line) EXPECT_EQ(launch.run(third), ThreadState::stopped);
        EXPECT_EQ(variables_of(launch, third), (Texts{"0: y = 2", "1: x = 2"}));
        EXPECT_EQ(variables_of(launch, first), (Texts{"0: y = 30", "1: x = 0"}));
        // A thread that waits, on whatever carrier, has its variables as well.
        EXPECT_EQ(launch.run(third),
                  GetParam() == On::lanes ? ThreadState::in_warp : ThreadState::at_barrier);
        EXPECT_EQ(variables_of(launch, third), (Texts{"0: x = 4"}));
        EXPECT_TRUE(set(launch, third, 0, "x", 400));
        EXPECT_EQ(variables_of(launch, third), (Texts{"0: x = 400"}));
    };
    DeviceArray<std::uint32_t> array(4);
    result = run(image, 1, 4, array.pointer(), options());
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(array.read(), (std::vector<std::uint32_t>{60, 2, 400, 6}));
}

TEST_P(Stops, show_the_variables_of_functions_that_call_themselves) {
    const auto image = with_lines(ir_image(R"(
define internal i32 @sum(i32 %v) {
  %n = alloca i32, align 4
  br label %body
body:
  store i32 %v, ptr %n, align 4
  %l = load i32, ptr %n, align 4
  %last = icmp eq i32 %l, 0
  br i1 %last, label %end, label %again
again:
  %m = sub i32 %l, 1
  %s = call i32 @sum(i32 %m)
  %l2 = load i32, ptr %n, align 4
  %r = add i32 %s, %l2
  ret i32 %r
end:
  ret i32 0
}
define void @k(ptr %out) {
  %x = alloca i32, align 4
  br label %body
body:
  store i32 7, ptr %x, align 4
  %r = call i32 @sum(i32 3)
  store i32 %r, ptr %out, align 4
  ret void
})"));
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 112); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        const ThreadRef thread = launch.stopped_thread();
        const findings::CallChain place = launch.location(thread);
        ASSERT_EQ(place.size(), 5U);
        EXPECT_EQ(place[0].line, 112U);
        EXPECT_EQ(place[1].line, 108U);
        EXPECT_EQ(place[4].line, 204U);
        EXPECT_EQ(variables_of(launch, thread),
                  (Texts{"0: n = 0", "1: n = 1", "2: n = 2", "3: n = 3", "4: x = 7"}));
        EXPECT_TRUE(set(launch, thread, 2, "n", 200));
    };
    DeviceArray<std::uint32_t> array(1);
    result = run(image, 1, 1, array.pointer(), options());
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(handler.stops, 1);
    EXPECT_EQ(array.read()[0], 1U + 200 + 3);
}

TEST_P(Stops, leave_kernels_their_carriers) {
    const auto kernel = device().load(two_rounds());
    const auto compiled = device().compile(*kernel, "k", options().compile_options());
    EXPECT_EQ(!compiled->resume_points.empty(), GetParam() == On::coroutines || GetParam() == On::lanes);
    EXPECT_FALSE(compiled->stops.places.empty());
}

TEST_P(Stops, have_a_table_that_comes_back_from_the_object_cache) {
    const auto image = device().load(two_rounds());
    const jit::CompileOptions with = options().compile_options();
    jit::CompileOptions without = with;
    without.instrumentations.remove(jit::statement_stops());
    EXPECT_NE(jit::cache_key(image->image(), "k", with), jit::cache_key(image->image(), "k", without));
    const auto compiled = device().compile(*image, "k", with);
    const auto back = jit::read_entry("key", jit::write_entry("key", *compiled, ""));
    ASSERT_TRUE(back);
    ASSERT_EQ(back->facts.stops.places.size(), compiled->stops.places.size());
    EXPECT_EQ(back->facts.stops.frames, compiled->stops.frames);
    EXPECT_EQ(back->facts.stops.types, compiled->stops.types);
    for (std::size_t i = 0; i < compiled->stops.places.size(); ++i) {
        EXPECT_EQ(back->facts.stops.places[i].site, compiled->stops.places[i].site);
        EXPECT_EQ(back->facts.stops.places[i].frames, compiled->stops.places[i].frames);
    }
}

TEST_P(Stops, can_end_the_launch) {
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 202); };
    for (const bool moves : {false, true}) {
        handler.stops = 0;
        handler.at_stop = [&](StoppedLaunch& launch) {
            if (moves) (void)launch.run({0, 2});
            launch.end();
            EXPECT_TRUE(launch.over());
            EXPECT_EQ(launch.run({0, 1}), ThreadState::not_started);  // nothing runs any more
        };
        (void)order(4);
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(result.error()->kind, findings::FindingKind::interrupted);
        EXPECT_EQ(handler.stops, 1);
        // The device is as before.
        handler.stops = 0;
        handler.at_stop = [](StoppedLaunch&) {};
        EXPECT_EQ(order(2), rounds({0, 1}, {0, 1}));
    }
}

TEST_P(Stops, end_when_the_host_is_interrupted) {
    LaunchOptions chosen = options();
    int polls = 0;
    chosen.poll_host = [&](const LaunchProgress& progress) { return !progress.compiling && ++polls == 3; };
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 202); };
    handler.at_stop = [](StoppedLaunch& launch) {
        while (!launch.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    DeviceArray<std::uint32_t> array(32);
    result = run(two_rounds(), 1, 4, array.pointer(), chosen);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, findings::FindingKind::interrupted);
    EXPECT_EQ(polls, 3);
}

/// Its threads give up their turns, so that the time limit is looked at, so many times.
image::KernelImage gives_up_turns(std::int64_t times) {
    return with_lines(ir_image(R"(
define void @k(ptr %out) {
  br label %again
again:
  %n = phi i64 [ 0, %0 ], [ %next, %again ]
  call void @llvm.nvvm.nanosleep(i32 1)
  %next = add i64 %n, 1
  %more = icmp slt i64 %next, )" +
                               std::to_string(times) + R"(
  br i1 %more, label %again, label %end
end:
  ret void
})"));
}

TEST_P(Stops, hold_the_time_limit) {
    LaunchOptions chosen = options();
    chosen.time_limit_seconds = 0.25;
    const auto look = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
    handler.begins = [&](StoppedLaunch& launch) {
        launch.stop_at(kernel_file, 103);
        look();
    };
    handler.at_stop = [&](StoppedLaunch& launch) {
        launch.stop_at(kernel_file, 103, false);
        look();
        EXPECT_EQ(launch.run(launch.stopped_thread()), ThreadState::spins);
        look();
    };
    DeviceArray<std::uint32_t> array(1);
    result = run(gives_up_turns(3), 1, 2, array.pointer(), chosen);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(handler.stops, 1);
}

TEST_P(Stops, let_the_time_limit_end_a_thread_that_the_handler_runs) {
    LaunchOptions chosen = options();
    chosen.time_limit_seconds = 0.05;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 103); };
    handler.at_stop = [](StoppedLaunch& launch) {
        launch.stop_at(kernel_file, 103, false);
        const auto patience = Clock::now() + std::chrono::seconds(20);
        while (!launch.over() && Clock::now() < patience) (void)launch.run({0, 0});
        EXPECT_TRUE(launch.over());
        launch.end();
    };
    DeviceArray<std::uint32_t> array(1);
    result = run(gives_up_turns(std::int64_t{1} << 60), 1, 2, array.pointer(), chosen);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, findings::FindingKind::time_limit);
    EXPECT_EQ(handler.stops, 1);
}

TEST_P(Stops, cost_launches_without_a_handler_nothing) {
    LaunchOptions plain = options();
    plain.stop_handler = nullptr;
    const auto image = two_rounds();
    EXPECT_EQ(jit::instrumented_ir(image, "k", plain.compile_options()).find("cudasim_hook_stop"),
              std::string::npos);
    EXPECT_NE(jit::instrumented_ir(image, "k", options().compile_options()).find("cudasim_hook_stop"),
              std::string::npos);
}

TEST(StopsOfHostCode, see_its_statements_and_move_its_threads) {
    using Numbers = std::vector<std::uint32_t>;
    Numbers order, stopped_at, line(4);  // line: by thread, where it is
    Handler handler;
    handler.begins = [](StoppedLaunch& launch) {
        launch.stop_at("host.cpp", 2);
        launch.stop_at("another.cpp", 1);
    };
    handler.at_stop = [&](StoppedLaunch& launch) {
        const std::uint32_t stopped = launch.stopped_thread().thread;
        stopped_at.push_back(10 * line[stopped] + stopped);
        if (handler.stops == 1) {
            EXPECT_EQ(launch.state({0, 3}), ThreadState::not_started);
            EXPECT_EQ(launch.run({0, 3}), ThreadState::stopped);
            EXPECT_EQ(line[3], 2U);
            EXPECT_EQ(order, Numbers{});
            EXPECT_EQ(launch.run({0, 3}), ThreadState::at_barrier);
            EXPECT_EQ(launch.run({0, 3}), ThreadState::at_barrier);
            EXPECT_EQ(order, Numbers{3});
            EXPECT_EQ(launch.state({0, 0}), ThreadState::stopped);
            EXPECT_TRUE(launch.stop_thread({0, 1}));
            launch.stop_at("host.cpp", 3);
        } else if (line[stopped] == 3 && stopped == 0) {
            EXPECT_EQ(launch.run({0, 2}), ThreadState::stopped);
            EXPECT_EQ(launch.run({0, 2}), ThreadState::over);
            launch.stop_at("host.cpp", 3, false);
        }
    };
    LaunchOptions options;
    options.stop_handler = &handler;
    const LaunchResult result = launch_function(
        [&](ThreadHandle& thread) {
            const auto comes_to = [&](std::uint32_t number) {
                line[thread.thread()] = number;
                thread.stop({"host.cpp", "kernel", number, 0});
            };
            comes_to(1);
            comes_to(2);
            order.push_back(thread.thread());
            thread.barrier();
            comes_to(3);
            order.push_back(10 + thread.thread());
        },
        {{1}, {4}, 0}, options);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(order, (Numbers{3, 0, 1, 2, 12, 10, 11, 13}));
    // Thread 1 was to stop at each of its statements: so it does at line 3, which the others no longer do.
    EXPECT_EQ(stopped_at, (Numbers{20, 11, 21, 22, 30, 31}));
}

}  // namespace
}  // namespace cudasim::execution
