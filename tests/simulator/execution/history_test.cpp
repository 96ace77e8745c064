// Going back (stop.h, launch_history.h): a launch that is sent back comes to the same statements again, with
// the same memory, whatever the carrier, the policy and the handler's choices were.
#include <array>
#include <cstring>
#include <functional>

#include "simulator/execution/loaded_image.h"
#include "simulator/execution/memory_history.h"
#include "simulator/execution/stop.h"
#include "tests/simulator/execution/carriers.h"

namespace cudasim::execution {
namespace {

constexpr std::uint64_t plenty = std::uint64_t{1} << 30;

class Handler final : public StopHandler {
  public:
    std::function<void(StoppedLaunch&)> begins = [](StoppedLaunch&) {};
    std::function<void(StoppedLaunch&)> at_stop = [](StoppedLaunch&) {};
    std::function<void(StoppedLaunch&)> at_fault = [](StoppedLaunch&) {};
    std::function<void(std::uint64_t, std::uint32_t, std::size_t)> at_pass;

    bool has_every_checkpoint = false;

    void launch_begins(StoppedLaunch& launch) override {
        EXPECT_EQ(has_every_checkpoint ? launch.keep_history(plenty, {}) : launch.keep_history(plenty), "");
        begins(launch);
    }
    void stopped(StoppedLaunch& launch) override { at_stop(launch); }
    void faulted(StoppedLaunch& launch) override { at_fault(launch); }
    void passes(std::uint64_t count, std::uint32_t site, std::size_t depth) noexcept override {
        if (at_pass) at_pass(count, site, depth);
    }
};

/// With checkpoints wherever there can be one, between the turns of two threads too, or with the first only:
/// these launches are short.
enum class Checkpoints : std::uint8_t { first, all };
using Case = std::tuple<On, Policy, Checkpoints>;

/// What can be seen at a statement.
struct Seen {
    std::uint64_t count = 0;
    ThreadRef thread;
    findings::CallChain place;
    std::vector<std::uint32_t> memory;
    bool operator==(const Seen&) const = default;
};

class History : public ::testing::TestWithParam<Case> {
  protected:
    static constexpr std::uint32_t threads = 40;

    [[nodiscard]] LaunchOptions options() {
        const auto [carrier, policy, checkpoints] = GetParam();
        handler.has_every_checkpoint = checkpoints == Checkpoints::all;
        LaunchOptions options = options_on(carrier);
        options.policy = policy;
        options.seed = 7;
        options.stop_handler = &handler;
        return options;
    }
    /// Threads put their numbers into `order`, one after another, wait, add to a sum, and do so again.
    [[nodiscard]] static image::KernelImage kernel() {
        return with_lines(ir_image(std::string(append_function) + R"(
define void @k(ptr %order) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @append(ptr %order, i32 %t)
  )" + wait_on(std::get<0>(GetParam())) +
                                   R"(
  %sum = getelementptr i32, ptr %order, i32 200
  %old = atomicrmw add ptr %sum, i32 %t seq_cst
  call void @append(ptr %order, i32 %old)
  ret void
})"));
    }
    std::vector<std::uint32_t> run(std::uint32_t blocks, const LaunchOptions& options) {
        return run(kernel(), blocks, options);
    }
    std::vector<std::uint32_t> run(const image::KernelImage& image, std::uint32_t blocks,
                                   const LaunchOptions& options) {
        DeviceArray<std::uint32_t> array(201);
        array_ = array.pointer();
        image_ = device().load(image);
        const std::uint64_t parameters[1] = {array.pointer()};
        result = device().launch(*image_, "k", {{blocks}, {threads}, 0}, std::as_bytes(std::span(parameters)),
                                 options);
        return array.read();
    }
    [[nodiscard]] Seen look(const StoppedLaunch& launch) const {
        Seen seen{launch.count(), launch.stopped_thread(), launch.location(launch.stopped_thread()), {}};
        seen.memory.resize(201);
        EXPECT_TRUE(
            launch.read(launch.stopped_thread(), array_, std::as_writable_bytes(std::span(seen.memory))));
        return seen;
    }

    Handler handler;
    LaunchResult result;
    DevicePointer array_ = 0;
    std::shared_ptr<LoadedImage> image_;
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
    constexpr std::array policies = {"forward", "reverse", "random"};
    return name_of(std::get<0>(info.param)) + "_" +
           policies[static_cast<std::size_t>(std::get<1>(info.param))] +
           (std::get<2>(info.param) == Checkpoints::all ? "_all_checkpoints" : "");
}
INSTANTIATE_TEST_SUITE_P(
    Cases, History,
    ::testing::Combine(all_carriers, ::testing::Values(Policy::forward, Policy::reverse, Policy::random),
                       ::testing::Values(Checkpoints::first, Checkpoints::all)),
    case_name);

TEST_P(History, comes_to_every_statement_of_the_past_again) {
    LaunchOptions plain = options();
    plain.stop_handler = nullptr;
    plain.workers = 1;
    const std::vector<std::uint32_t> expected = run(2, plain);
    std::vector<Seen> trace;
    std::size_t back = 0;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_everywhere(); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        constexpr std::size_t most = 700;
        if (back == 0 && trace.size() < most) {
            trace.push_back(look(launch));
            EXPECT_EQ(trace.back().count, trace.size());
            if (trace.size() < most) return;
        } else {
            EXPECT_FALSE(launch.differs());
            ASSERT_EQ(look(launch), trace[trace.size() - 1 - back]);
        }
        // Every statement of the last ones, then further and further back.
        back += back < 20 ? 1 : back / 2;
        if (back < trace.size())
            launch.run_again(trace.size() - back, trace.size() - back, StoppedLaunch::Repetition::silent);
        else
            launch.stop_everywhere(false);
    };
    EXPECT_EQ(run(2, options()), expected) << messages(result);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(trace.size(), 700U);
    EXPECT_GT(back, 600U);
}

TEST_P(History, repeats_what_the_handler_did) {
    std::vector<Seen> trace;
    std::vector<std::uint32_t> first_end;
    bool goes_back = false;
    std::size_t next = 0;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 202); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (goes_back) {
            ASSERT_FALSE(launch.differs());
            ASSERT_EQ(look(launch), trace[next]);
        } else {
            // Three threads move in turns, out of their order; the second writes, too.
            launch.stop_at(kernel_file, 202, false);
            const std::uint64_t block = launch.stopped_thread().block;
            for (const std::uint32_t thread : {3U, 39U, 3U, 17U, 3U, 39U, 39U, 39U, 17U}) {
                const ThreadRef moving{block, thread};
                (void)launch.stop_thread(moving);
                const ThreadState state = launch.run(moving);
                (void)launch.stop_thread(moving, false);
                if (state != ThreadState::stopped) continue;
                // What is written at a stop is there again when the launch comes back to it.
                const std::uint32_t value = 1000 + thread;
                if (trace.size() == 3)
                    ASSERT_TRUE(launch.write(moving, array_ + 4 * std::uint64_t{150},
                                             std::as_bytes(std::span(&value, 1))));
                trace.push_back(look(launch));
            }
            goes_back = true;
            next = trace.size();
        }
        if (next == 0) return;
        --next;
        launch.run_again(trace[next].count, trace[next].count, StoppedLaunch::Repetition::silent);
    };
    (void)run(1, options());
    EXPECT_EQ(messages(result), "");
    EXPECT_GE(trace.size(), 8U);
    EXPECT_EQ(next, 0U);
}

TEST_P(History, leads_to_the_same_end_when_the_launch_goes_on_from_the_past) {
    std::vector<std::uint32_t> values;
    std::uint64_t stops = 0, target = 0;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_at(kernel_file, 204); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (++stops == 30) {
            target = launch.count() / 2;
            launch.run_again(target, target, StoppedLaunch::Repetition::silent);
        } else if (stops == 31) {
            EXPECT_EQ(launch.count(), target);
            launch.stop_at(kernel_file, 204, false);
        }
    };
    LaunchOptions plain = options();
    plain.stop_handler = nullptr;
    plain.workers = 1;
    const std::vector<std::uint32_t> expected = run(2, plain);
    EXPECT_EQ(run(2, options()), expected);
    EXPECT_EQ(stops, 31U);
}

/// Threads give up their turns in the middle of a loop, with local arrays and shared memory in use.
TEST_P(History, comes_back_into_the_middle_of_a_block) {
    const image::KernelImage image = with_lines(ir_image(std::string(append_function) + R"(
@sums = internal addrspace(3) global [64 x i32] undef
define void @k(ptr %order) {
entry:
  %local = alloca [4 x i32]
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store [4 x i32] zeroinitializer, ptr %local
  %own = getelementptr [64 x i32], ptr addrspace(3) @sums, i32 0, i32 %t
  store i32 0, ptr addrspace(3) %own
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %slot = and i32 %i, 3
  %place = getelementptr [4 x i32], ptr %local, i32 0, i32 %slot
  %known = load i32, ptr %place
  %more = add i32 %known, %t
  store i32 %more, ptr %place
  %sum = load i32, ptr addrspace(3) %own
  %larger = add i32 %sum, %more
  store i32 %larger, ptr addrspace(3) %own
  call void @llvm.nvvm.nanosleep(i32 1)
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, 12
  br i1 %again, label %loop, label %end
end:
  )" + wait_on(std::get<0>(GetParam())) + R"(
  %last = load i32, ptr addrspace(3) %own
  call void @append(ptr %order, i32 %last)
  ret void
})"));
    LaunchOptions plain = options();
    plain.stop_handler = nullptr;
    plain.workers = 1;
    const std::vector<std::uint32_t> expected = run(image, 2, plain);
    struct Place {
        std::uint64_t count = 0;
        ThreadRef thread;
        findings::CallChain place;
        std::vector<std::byte> shared;
        bool operator==(const Place&) const = default;
    };
    std::vector<Place> trace;
    std::size_t back = 0;
    bool is_over = false;
    std::uint64_t begins = 0;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_everywhere(); };
    handler.at_stop = [&](StoppedLaunch& launch) {
        constexpr std::size_t most = 4000;
        const ThreadRef thread = launch.stopped_thread();
        const std::span<std::byte> shared = launch.shared(thread.block);
        Place here{launch.count(), thread, launch.location(thread), {shared.begin(), shared.end()}};
        if (!is_over) {
            trace.push_back(std::move(here));
            if (trace.size() < most) return;
            is_over = true;
        } else {
            EXPECT_FALSE(launch.differs());
            ASSERT_EQ(here, trace[trace.size() - 1 - back]);
        }
        back += 37;
        if (back >= most) return launch.stop_everywhere(false);
        const std::uint64_t count = trace.size() - back;
        begins += launch.run_again(count, count, StoppedLaunch::Repetition::silent) != 0;
    };
    EXPECT_EQ(run(image, 2, options()), expected);
    EXPECT_EQ(messages(result), "");
    ASSERT_EQ(trace.size(), 4000U);
    // Both blocks are long enough that most ways back end within one.
    EXPECT_EQ(begins > 80, handler.has_every_checkpoint) << begins;
}

TEST_P(History, tells_of_the_statements_of_one_thread) {
    std::vector<std::uint64_t> stopped, passed;
    const ThreadRef thread{1, 5};
    std::vector<std::size_t> depths, passed_depths;
    std::uint64_t now = 0, from = 0;
    handler.begins = [](StoppedLaunch& launch) { launch.stop_everywhere(); };
    handler.at_pass = [&](std::uint64_t count, std::uint32_t, std::size_t depth) {
        passed.push_back(count);
        passed_depths.push_back(depth);
    };
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (now != 0) {
            EXPECT_EQ(launch.count(), now);
            return launch.follow({});
        }
        if (launch.stopped_thread() == thread) {
            stopped.push_back(launch.count());
            depths.push_back(launch.depth(thread));
        }
        if (stopped.size() < 8) return;
        launch.stop_everywhere(false);
        launch.follow(thread, from);
        now = launch.count();
        launch.run_again(1, now, StoppedLaunch::Repetition::observed);
    };
    (void)run(2, options());
    EXPECT_EQ(passed, stopped);
    EXPECT_EQ(passed_depths, depths);
    EXPECT_EQ(stopped.size(), 8U);
    // Of those behind the third one only.
    from = stopped[2];
    const std::vector<std::uint64_t> later(stopped.begin() + 3, stopped.end());
    now = 0;
    stopped.clear();
    passed.clear();
    (void)run(2, options());
    EXPECT_EQ(passed, later);
}

TEST_P(History, of_an_error_is_told_again) {
    int faults = 0;
    std::uint64_t count = 0;
    handler.at_fault = [&](StoppedLaunch& launch) {
        if (++faults == 1) {
            count = launch.count();
            launch.run_again(count - 3, count - 3, StoppedLaunch::Repetition::silent);
        } else if (faults == 2) {
            EXPECT_EQ(launch.count(), count);
        }
    };
    int stops = 0;
    handler.at_stop = [&](StoppedLaunch& launch) {
        ++stops;
        EXPECT_EQ(launch.count(), count - 3);
    };
    const auto run_out_of_bounds = [&](const LaunchOptions& options) {
        DeviceArray<std::uint32_t> array(30);
        image_ = device().load(kernel());
        const std::uint64_t parameters[1] = {array.pointer()};
        return device().launch(*image_, "k", {{1}, {threads}, 0}, std::as_bytes(std::span(parameters)),
                               options);
    };
    LaunchOptions plain = options();
    plain.stop_handler = nullptr;
    plain.workers = 1;
    const LaunchResult expected = run_out_of_bounds(plain);
    result = run_out_of_bounds(options());
    ASSERT_FALSE(result.findings.empty());
    ASSERT_EQ(result.findings.size(), expected.findings.size());
    for (std::size_t i = 0; i < expected.findings.size(); ++i) {
        EXPECT_EQ(result.findings[i].count, expected.findings[i].count) << i;
        EXPECT_EQ(result.findings[i].thread, expected.findings[i].thread) << i;
    }
    EXPECT_EQ(stops, 1);
    EXPECT_GT(faults, 2);
}

TEST(MemoryHistory, restores_and_forgets) {
    memory::Arena arena(1 << 20);
    const std::uint64_t address = arena.allocate(20000, "", false).value();
    auto* words = reinterpret_cast<std::uint32_t*>(address);
    constexpr std::size_t count = 5000;
    std::vector<std::vector<std::uint32_t>> states;
    const auto keep = [&] { states.emplace_back(words, words + count); };
    for (std::uint32_t i = 0; i < count; ++i) words[i] = i;
    MemoryHistory history(std::make_shared<const MemoryCopy>(arena));
    keep();
    for (std::uint32_t round = 1; round <= 5; ++round) {
        words[round * 900] = round;
        words[4999] = 100 + round;
        if (round % 2 == 0) words[3] = round;
        EXPECT_EQ(history.save(), round);
        keep();
    }
    history.forget(2);
    states.erase(states.begin() + 2);
    history.forget(1);
    states.erase(states.begin() + 1);
    ASSERT_EQ(history.states(), states.size());
    for (std::size_t state = states.size(); state-- > 0;) {
        history.restore(state);
        EXPECT_EQ(std::vector(words, words + count), states[state]) << state;
    }
    EXPECT_EQ(history.states(), 1U);
    words[0] = 77;
    EXPECT_EQ(history.save(), 1U);
    words[0] = 78;
    history.restore(1);
    EXPECT_EQ(words[0], 77U);
}

TEST(MemoryCopies, are_exact) {
    // Large ones are copied otherwise than small ones; ends are no multiples of anything.
    memory::Arena arena(8 << 20);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const std::uint64_t bytes : {1ULL, 4097ULL, 262143ULL, 262144ULL, 262145ULL, 1048576ULL + 63})
        ranges.emplace_back(arena.allocate(bytes, "", false).value(), bytes);
    std::uint32_t state = 1;
    std::vector<std::vector<std::uint8_t>> expected;
    for (const auto& [address, bytes] : ranges) {
        auto* first = reinterpret_cast<std::uint8_t*>(address);
        for (std::uint64_t i = 0; i < bytes; ++i)
            first[i] = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
        expected.emplace_back(first, first + bytes);
    }
    const MemoryCopy copy(arena);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto [address, bytes] = ranges[i];
        std::memset(reinterpret_cast<void*>(address), 0, bytes);
        const auto content = copy.content(address, bytes);
        ASSERT_NE(content, nullptr);
        EXPECT_EQ(std::memcmp(content.get(), expected[i].data(), bytes), 0) << bytes;
    }
}

TEST(LaunchHistories, need_room) {
    class Small final : public StopHandler {
      public:
        std::string error;
        void launch_begins(StoppedLaunch& launch) override { error = launch.keep_history(100); }
        void stopped(StoppedLaunch&) override {}
    } handler;
    DeviceArray<std::uint32_t> array(201);
    const auto image = device().load(with_lines(ir_image("define void @k(ptr %x) { ret void }")));
    LaunchOptions options;
    options.stop_handler = &handler;
    const std::uint64_t parameters[1] = {array.pointer()};
    (void)device().launch(*image, "k", {{1}, {1}, 0}, std::as_bytes(std::span(parameters)), options);
    EXPECT_NE(handler.error.find("only 100 may be used"), std::string::npos) << handler.error;
}

}  // namespace
}  // namespace cudasim::execution
