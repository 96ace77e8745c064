// A stop's handler starts blocks before their turn (StoppedLaunch::start_block()) and moves threads of them
// alone; every block still runs once, and the launch goes back over it. For whom threads wait. On every
// carrier, under every policy.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "simulator/execution/observer.h"
#include "simulator/execution/random_order.h"
#include "simulator/execution/stop.h"
#include "tests/simulator/execution/carriers.h"

namespace cudasim::execution {
namespace {

constexpr std::uint32_t threads = 40, blocks = 6;
/// Of kernel(): the first call of @append, the wait, the second call.
constexpr std::uint32_t first_call = 206, wait_line = 207;

class Handler final : public StopHandler {
  public:
    std::function<void(StoppedLaunch&)> begins = [](StoppedLaunch&) {};
    std::function<void(StoppedLaunch&)> at_stop = [](StoppedLaunch&) {};
    std::uint64_t history = 0;
    int stops = 0;

    void launch_begins(StoppedLaunch& launch) override {
        if (history != 0) {
            EXPECT_EQ(launch.keep_history(history), "");
        }
        begins(launch);
    }
    void stopped(StoppedLaunch& launch) override {
        ++stops;
        at_stop(launch);
    }
};

/// How often each block began and ended.
class BlockCounter final : public LaunchObserver {
  public:
    std::map<std::uint64_t, std::pair<int, int>> blocks;
    void block_begins(ObservedBlock& block) override { ++blocks[block.block].first; }
    void block_ends(const ObservedBlock& block, BlockEnd end) override {
        EXPECT_EQ(end, BlockEnd::finished);
        ++blocks[block.block].second;
    }
};

using Case = std::tuple<On, Policy>;

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
    constexpr std::array policies = {"forward", "reverse", "random"};
    return name_of(std::get<0>(info.param)) + "_" +
           policies[static_cast<std::size_t>(std::get<1>(info.param))];
}

class StartedBlocks : public ::testing::TestWithParam<Case> {
  protected:
    [[nodiscard]] LaunchOptions options(bool stops = true) {
        const auto [carrier, policy] = GetParam();
        LaunchOptions options = options_on(carrier);
        options.policy = policy;
        options.seed = 7;
        options.workers = 1;
        if (stops) options.stop_handler = &handler;
        return options;
    }
    /// Threads put their numbers within the grid into `order`, one after another, wait, and do so again.
    [[nodiscard]] static image::KernelImage kernel() {
        return with_lines(ir_image(std::string(append_function) + R"(
define void @k(ptr %order) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %c, %n
  %i = add i32 %first, %t
  call void @append(ptr %order, i32 %i)
  )" + wait_on(std::get<0>(GetParam())) +
                                   R"(
  call void @append(ptr %order, i32 %i)
  ret void
})"));
    }
    /// The numbers in their order.
    std::vector<std::uint32_t> run(const LaunchOptions& options) {
        DeviceArray<std::uint32_t> array(2 * threads * blocks + 1);
        array_ = array.pointer();
        image_ = device().load(kernel());
        const std::uint64_t parameters[1] = {array.pointer()};
        result = device().launch(*image_, "k", {{blocks}, {threads}, 0}, std::as_bytes(std::span(parameters)),
                                 options);
        EXPECT_EQ(messages(result), "");
        EXPECT_EQ(result.blocks_run, blocks);
        std::vector<std::uint32_t> values = array.read();
        values.erase(values.begin());
        return values;
    }
    [[nodiscard]] std::vector<std::uint32_t> plain() { return run(options(false)); }
    /// A block that is not the first; in forward order and with one more stop each it would be far away.
    [[nodiscard]] static std::uint64_t another(const StoppedLaunch& launch, std::uint64_t distance = 3) {
        return (launch.stopped_thread().block + distance) % blocks;
    }
    /// Blocks in the order in which their first numbers come.
    static std::vector<std::uint32_t> order_of_blocks(const std::vector<std::uint32_t>& numbers) {
        std::vector<std::uint32_t> order;
        for (const std::uint32_t number : numbers)
            if (std::ranges::find(order, number / threads) == order.end()) order.push_back(number / threads);
        return order;
    }
    static std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> numbers) {
        std::ranges::sort(numbers);
        return numbers;
    }

    Handler handler;
    LaunchResult result;
    DevicePointer array_ = 0;
    std::shared_ptr<LoadedImage> image_;
};
INSTANTIATE_TEST_SUITE_P(Cases, StartedBlocks,
                         ::testing::Combine(all_carriers, ::testing::Values(Policy::forward, Policy::reverse,
                                                                            Policy::random)),
                         case_name);

TEST_P(StartedBlocks, have_one_thread_that_moves_alone_and_come_behind_the_one_that_stopped) {
    const std::vector<std::uint32_t> expected = plain();
    BlockCounter counter;
    LaunchOptions wanted = options();
    wanted.observers.add(counter);
    std::uint64_t started = 0;
    ThreadRef stopped;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, first_call); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        stopped = launch.stopped_thread();
        started = another(launch);
        const ThreadRef moving{started, 13};
        EXPECT_FALSE(launch.is_on_device(started));
        EXPECT_EQ(launch.state(moving), ThreadState::not_started);
        EXPECT_FALSE(launch.stop_thread(moving));
        EXPECT_EQ(launch.start_block(started), "");
        EXPECT_EQ(launch.start_block(started), "");
        EXPECT_EQ(launch.blocks().size(), 2U);
        EXPECT_TRUE(launch.stop_thread(moving));
        for (std::uint32_t line = 201; line <= first_call; ++line) {
            EXPECT_EQ(launch.run(moving), ThreadState::stopped);
            EXPECT_EQ(launch.location(moving).front().line, line);
        }
        EXPECT_EQ(launch.coordinate(moving).ctaid.x, started);
        EXPECT_TRUE(launch.stop_thread(moving, false));
        const ThreadState wait = launch.run(moving);
        EXPECT_EQ(wait,
                  std::get<0>(GetParam()) == On::lanes ? ThreadState::in_warp : ThreadState::at_barrier);
        const std::vector<ThreadPlace> places = launch.places(started);
        for (std::uint32_t thread = 0; thread < threads; ++thread)
            EXPECT_EQ(places[thread].state, thread == 13 ? wait : ThreadState::not_started) << thread;
        EXPECT_EQ(launch.state(stopped), ThreadState::stopped);
        launch.stop_at(kernel_file, first_call, false);
    };
    const std::vector<std::uint32_t> numbers = run(wanted);
    EXPECT_EQ(numbers.front(), started * threads + 13);
    EXPECT_EQ(sorted(numbers), sorted(expected));
    std::vector<std::uint32_t> order = order_of_blocks(expected);
    std::erase(order, static_cast<std::uint32_t>(started));
    order.insert(order.begin(), static_cast<std::uint32_t>(started));
    EXPECT_EQ(order_of_blocks(numbers), order);
    // Behind that one number the block that has stopped comes first.
    EXPECT_TRUE(std::all_of(numbers.begin() + 1, numbers.begin() + 1 + 2 * threads,
                            [&](std::uint32_t number) { return number / threads == stopped.block; }));
    EXPECT_EQ(counter.blocks.size(), blocks);
    for (const auto& [block, times] : counter.blocks) EXPECT_EQ(times, std::pair(1, 1)) << block;
}

TEST_P(StartedBlocks, can_all_run_to_their_ends_before_their_turns) {
    const std::vector<std::uint32_t> expected = plain();
    BlockCounter counter;
    LaunchOptions wanted = options();
    wanted.observers.add(counter);
    std::vector<std::string> refused;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, first_call); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        launch.stop_at(kernel_file, first_call, false);
        for (std::uint64_t distance = 1; distance < blocks; ++distance)
            for (bool any = true; any;) {
                any = false;
                for (std::uint32_t thread = 0; thread < threads; ++thread) {
                    const ThreadRef moving{another(launch, distance), thread};
                    if (launch.state(moving) > ThreadState::spins) continue;
                    (void)launch.run(moving);
                    any = true;
                }
            }
        EXPECT_EQ(launch.blocks().size(), blocks);
        EXPECT_EQ(launch.state({another(launch), 0}), ThreadState::over);
        EXPECT_EQ(launch.start_block(blocks), "there is no block 6: the grid has 6");
        EXPECT_EQ(launch.state({blocks, 0}), ThreadState::absent);
    };
    const std::vector<std::uint32_t> numbers = run(wanted);
    EXPECT_EQ(handler.stops, 1);
    EXPECT_EQ(sorted(numbers), sorted(expected));
    for (const auto& [block, times] : counter.blocks) EXPECT_EQ(times, std::pair(1, 1)) << block;
}

TEST_P(StartedBlocks, that_are_over_do_not_start_again) {
    const std::vector<std::uint32_t> expected = plain();
    const std::vector<std::uint32_t> order = order_of_blocks(expected);
    int refused = 0;
    std::uint64_t early = 0;
    handler.begins = [](StoppedLaunch& launch) {
        launch.stop_at(kernel_file, first_call);
        EXPECT_NE(launch.start_block(2).find("block 2 cannot start now"), std::string::npos);
    };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops == 1) {
            early = order[4];
            EXPECT_EQ(launch.start_block(early), "");
        }
        // The one started early runs second.
        const std::uint64_t here = launch.stopped_thread().block;
        if (here == order[0] || here == early) return;
        for (const std::uint64_t over : {std::uint64_t{order[0]}, early}) {
            EXPECT_EQ(launch.start_block(over), "block " + std::to_string(over) + " has run to its end");
            EXPECT_EQ(launch.state({over, 1}), ThreadState::over);
            EXPECT_EQ(launch.run({over, 1}), ThreadState::over);
        }
        ++refused;
    };
    EXPECT_EQ(sorted(run(options())), sorted(expected));
    EXPECT_EQ(refused, (blocks - 2) * threads);
}

TEST_P(StartedBlocks, are_run_by_naming_one_of_their_threads) {
    const std::vector<std::uint32_t> expected = plain();
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, first_call); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        const ThreadRef moving{another(launch), 5};
        EXPECT_EQ(launch.run(moving), ThreadState::stopped);
        EXPECT_EQ(launch.stopped_thread(), moving);
        launch.stop_at(kernel_file, first_call, false);
    };
    EXPECT_EQ(sorted(run(options())), sorted(expected));
}

/// Statements of the whole launch, and memory at each.
TEST_P(StartedBlocks, start_again_when_the_launch_goes_back) {
    struct Seen {
        std::uint64_t count = 0;
        ThreadRef thread;
        findings::CallChain place;
        std::vector<std::uint32_t> memory;
        bool operator==(const Seen&) const = default;
    };
    std::vector<Seen> trace;
    std::size_t back = 0;
    bool has_moved = false;
    handler.history = std::uint64_t{1} << 30;
    const auto look = [&](const StoppedLaunch& launch) {
        Seen seen{launch.count(), launch.stopped_thread(), launch.location(launch.stopped_thread()), {}};
        seen.memory.resize(2 * threads * blocks + 1);
        EXPECT_TRUE(
            launch.read(launch.stopped_thread(), array_, std::as_writable_bytes(std::span(seen.memory))));
        return seen;
    };
    handler.begins = [](StoppedLaunch& launch) { launch.stop_everywhere(); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        constexpr std::size_t most = 3000;
        if (back == 0) {
            trace.push_back(look(launch));
            if (trace.size() == 100 && !std::exchange(has_moved, true)) {
                // Not over, and over before its turn.
                const std::uint64_t some = another(launch, 2), all = another(launch, 4);
                for (int i = 0; i < 7; ++i) {
                    EXPECT_EQ(launch.run({some, 3}), ThreadState::stopped);
                    trace.push_back(look(launch));
                }
                for (bool any = true; any;) {
                    any = false;
                    for (std::uint32_t thread = 0; thread < threads; ++thread) {
                        if (launch.state({all, thread}) > ThreadState::spins) continue;
                        any = true;
                        if (launch.run({all, thread}) == ThreadState::stopped) trace.push_back(look(launch));
                    }
                }
            }
            // So that there is a checkpoint at the next block.
            if (trace.size() % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));
            if (trace.size() < most) return;
        } else {
            EXPECT_FALSE(launch.differs());
            const Seen& expected = trace[launch.count() - 1];
            EXPECT_EQ(look(launch), expected) << back;
        }
        constexpr std::array targets{2995, 1700, 103, 90};
        if (back == targets.size()) {
            launch.stop_everywhere(false);
            return;
        }
        const auto target = static_cast<std::uint64_t>(targets[back++]);
        const std::uint64_t from = launch.run_again(target, target, StoppedLaunch::Repetition::silent);
        // Behind the blocks that were started: they are not run again.
        if (back == 1) {
            EXPECT_GT(from, 2000U);
        }
    };
    const std::vector<std::uint32_t> expected = plain();
    EXPECT_EQ(sorted(run(options())), sorted(expected));
    EXPECT_EQ(back, 4U);
    for (std::size_t i = 0; i < trace.size(); ++i) EXPECT_EQ(trace[i].count, i + 1);
}

TEST_P(StartedBlocks, leave_the_schedule_alone_where_nobody_starts_one) {
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, first_call); };
    const std::vector<std::uint32_t> stopped = run(options());
    EXPECT_EQ(handler.stops, blocks * threads);
    EXPECT_EQ(stopped, plain());
}

TEST_P(StartedBlocks, say_for_whom_their_threads_wait) {
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, wait_line); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        launch.stop_at(kernel_file, wait_line, false);
        const std::uint64_t block = another(launch);
        EXPECT_EQ(launch.wait_of({block, 3}).kind, ThreadWait::Kind::none);
        for (const std::uint32_t thread : {3U, 4U, 39U}) (void)launch.run({block, thread});
        const ThreadWait wait = launch.wait_of({block, 3});
        const bool of_warp = std::get<0>(GetParam()) == On::lanes;
        EXPECT_EQ(wait.kind, of_warp ? ThreadWait::Kind::warp : ThreadWait::Kind::barrier);
        std::vector<std::uint32_t> expected;
        for (std::uint32_t thread = 0; thread < (of_warp ? 32 : threads); ++thread)
            if (thread != 3 && thread != 4 && thread != 39) expected.push_back(thread);
        EXPECT_EQ(wait.threads, expected);
        EXPECT_TRUE(wait.ended.empty());
        EXPECT_TRUE(wait.blocks.empty());
    };
    (void)run(options());
}

// Other waits, and other kernels ----------------------------------------------------------------------------

class WaitsOfHostCode : public ::testing::TestWithParam<Policy> {
  protected:
    LaunchResult run(std::uint32_t grid, std::uint32_t block, std::function<void(ThreadHandle&)> body) {
        LaunchOptions options;
        options.policy = GetParam();
        options.seed = 3;
        options.stop_handler = &handler;
        return launch_function(std::move(body), {{grid}, {block}, 0}, options);
    }
    Handler handler;
};
INSTANTIATE_TEST_SUITE_P(Policies, WaitsOfHostCode,
                         ::testing::Values(Policy::forward, Policy::reverse, Policy::random));

TEST_P(WaitsOfHostCode, at_a_grid_barrier_name_the_blocks_that_have_not_come) {
    constexpr std::uint32_t grid = 5, block = 3;
    const findings::SourceLocation place{"host.cpp", "body", 7, 1};
    int passed = 0;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at("host.cpp", 7); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        launch.stop_at("host.cpp", 7, false);
        const std::uint64_t mine = (launch.stopped_thread().block + 2) % grid, whole = (mine + 1) % grid;
        EXPECT_EQ(launch.run({mine, 0}), ThreadState::at_barrier);
        EXPECT_EQ(launch.run({mine, 1}), ThreadState::at_barrier);
        for (std::uint32_t thread = 0; thread < block; ++thread)
            EXPECT_EQ(launch.run({whole, thread}), ThreadState::at_barrier);
        const ThreadWait wait = launch.wait_of({mine, 0});
        EXPECT_EQ(wait.kind, ThreadWait::Kind::grid);
        EXPECT_EQ(wait.threads, (std::vector<std::uint32_t>{2}));
        std::vector<std::uint64_t> missing;
        for (const auto& [first, last] : wait.blocks)
            for (std::uint64_t each = first; each <= last; ++each) missing.push_back(each);
        std::vector<std::uint64_t> expected;
        for (std::uint64_t each = 0; each < grid; ++each)
            if (each != mine && each != whole) expected.push_back(each);
        EXPECT_EQ(missing, expected);
    };
    const LaunchResult result = run(grid, block, [&](ThreadHandle& thread) {
        if (thread.wants_stop(place)) thread.stop(place);
        (void)thread.barrier(1, jit::BarrierKind::grid);
        ++passed;
        (void)thread.barrier(2, jit::BarrierKind::grid);
    });
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(passed, 15);
    EXPECT_EQ(handler.stops, 1);
}

/// Each block waits in a loop for the one before it.
TEST_P(StartedBlocks, may_spin_until_blocks_before_them_have_run) {
    const auto image = with_lines(ir_image(R"(
define void @k(ptr %flags) {
entry:
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = getelementptr i32, ptr %flags, i32 %c
  %next = add i32 %c, 1
  %mine = getelementptr i32, ptr %flags, i32 %next
  br label %spin
spin:
  %seen = load volatile i32, ptr %before, align 4
  %there = icmp ne i32 %seen, 0
  br i1 %there, label %done, label %spin
done:
  store volatile i32 %seen, ptr %mine, align 4
  ret void
})"));
    DeviceArray<std::uint32_t> flags(blocks + 1);
    const std::uint32_t one = 1;
    device().copy_to_device(flags.pointer(), &one, sizeof one);
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 101); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        launch.stop_at(kernel_file, 101, false);
        const std::uint64_t last = launch.stopped_thread().block == blocks - 1 ? blocks - 2 : blocks - 1;
        EXPECT_EQ(launch.run({last, 0}), ThreadState::spins);
        EXPECT_EQ(launch.wait_of({last, 0}).kind, ThreadWait::Kind::memory);
    };
    const auto loaded = device().load(image);
    const std::uint64_t parameters[1] = {flags.pointer()};
    result =
        device().launch(*loaded, "k", {{blocks}, {2}, 0}, std::as_bytes(std::span(parameters)), options());
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(handler.stops, 1);
    EXPECT_EQ(flags.read(), std::vector<std::uint32_t>(blocks + 1, 1));
}

TEST_P(StartedBlocks, print_in_the_order_of_all_blocks) {
    const auto image = with_lines(ir_image(R"(
@format = internal addrspace(4) constant [4 x i8] c"%d\0A\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %out) {
  %arguments = alloca { i32 }
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  store i32 %c, ptr %arguments
  %f = addrspacecast ptr addrspace(4) @format to ptr
  %r = call i32 @vprintf(ptr %f, ptr %arguments)
  ret void
})"));
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 102); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (handler.stops != 1) return;
        launch.stop_at(kernel_file, 102, false);
        EXPECT_EQ(launch.run({another(launch), 1}), ThreadState::over);
        EXPECT_EQ(launch.run({another(launch, 1), 0}), ThreadState::over);
    };
    const auto text = [&](bool stops) {
        std::string all;
        LaunchOptions wanted = options(stops);
        wanted.write_output = [&](std::string_view more) {
            all += more;
            return true;
        };
        const auto loaded = device().load(image);
        const std::uint64_t parameters[1] = {0};
        (void)device().launch(*loaded, "k", {{blocks}, {2}, 0}, std::as_bytes(std::span(parameters)), wanted);
        return all;
    };
    const std::string expected = text(false);
    EXPECT_EQ(expected.size(), 2U * 2 * blocks);
    EXPECT_EQ(text(true), expected);
    EXPECT_EQ(handler.stops, 1);
}

}  // namespace
}  // namespace cudasim::execution
