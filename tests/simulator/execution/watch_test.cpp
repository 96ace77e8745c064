// Watches (watches.h): a thread that touches memory, or a variable, stops and says what it did. On every
// carrier.
#include <array>
#include <cstring>
#include <functional>

#include "simulator/execution/loaded_image.h"
#include "simulator/execution/stop.h"
#include "simulator/execution/watches.h"
#include "tests/simulator/execution/carriers.h"

namespace cudasim::execution {
namespace {

/// A handler made of functions.
class Handler final : public StopHandler {
  public:
    std::function<void(StoppedLaunch&)> begins = [](StoppedLaunch&) {};
    std::function<void(StoppedLaunch&)> at_stop = [](StoppedLaunch&) {};
    std::function<bool(std::uint32_t)> wanted = [](std::uint32_t) { return true; };
    std::vector<std::uint32_t> ends;

    void launch_begins(StoppedLaunch& launch) override { begins(launch); }
    void stopped(StoppedLaunch& launch) override { at_stop(launch); }
    void ended(StoppedLaunch& launch) override { ends.push_back(launch.stopped_thread().thread); }
    bool wants_hits(const jit::BlockContext&, std::uint32_t thread,
                    std::span<const WatchHit>) noexcept override {
        return wanted(thread);
    }
};

/// One hit, as the handler sees it.
struct Seen {
    std::uint32_t thread, line;
    WatchHit::Kind kind;
    std::uint32_t old_value, new_value;
    bool operator==(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& stream, const Seen& seen) {
    return stream << "{" << seen.thread << " at " << seen.line << ", " << int(seen.kind) << ", "
                  << seen.old_value << " -> " << seen.new_value << "}";
}

constexpr auto write_kind = WatchHit::Kind::write;
constexpr auto read_kind = WatchHit::Kind::read;

class WatchTests : public ::testing::TestWithParam<On> {
  protected:
    [[nodiscard]] LaunchOptions options(StopHandler* stops) const {
        LaunchOptions options = options_on(GetParam());
        options.stop_handler = stops;
        if (stops == nullptr) options.workers = 1;
        return options;
    }
    [[nodiscard]] static std::string wait() { return wait_on(GetParam()); }
    /// Numbers after a launch of @k with these at first.
    std::vector<std::uint32_t> run(const std::string& body, std::vector<std::uint32_t> values,
                                   std::uint32_t blocks, std::uint32_t threads, StopHandler* stops,
                                   DeviceArray<std::uint32_t>& array) {
        device().copy_to_device(array.pointer(), values.data(), values.size() * sizeof values[0]);
        image_ = device().load(with_lines(ir_image(body)));
        const std::uint64_t parameters[1] = {array.pointer()};
        const LaunchResult result = device().launch(*image_, "k", {{blocks}, {threads}, 0},
                                                    std::as_bytes(std::span(parameters)), options(stops));
        EXPECT_EQ(messages(result), "");
        return array.read();
    }
    /// Watches element `index` of the array, notes all hits, and looks whether results are those of a launch
    /// without a debugger.
    void watch(const std::string& body, std::vector<std::uint32_t> values, std::uint32_t threads,
               std::uint64_t index, std::uint8_t kinds) {
        DeviceArray<std::uint32_t> array(values.size());
        const std::uint64_t address = array.pointer() + 4 * index;
        handler.begins = [=](StoppedLaunch& launch) {
            MemoryWatch watch;
            watch.id = 7;
            watch.kinds = kinds;
            watch.ranges = {{address, 4}};
            EXPECT_TRUE(launch.watch(watch));
        };
        handler.at_stop = [&, address](StoppedLaunch& launch) { note(launch, address); };
        const auto watched = run(body, values, 1, threads, &handler, array);
        EXPECT_EQ(watched, run(body, values, 1, threads, nullptr, array));
    }
    void note(StoppedLaunch& launch, std::uint64_t address) {
        EXPECT_TRUE(launch.is_inside_statement());
        for (const WatchHit& hit : launch.watch_hits()) {
            EXPECT_EQ(hit.id, 7U);
            EXPECT_EQ(hit.thread, launch.stopped_thread());
            const findings::CallChain place = launch.location(launch.stopped_thread());
            ASSERT_FALSE(place.empty());
            EXPECT_EQ(launch.launch().location(hit.site).front().line, place.front().line);
            std::uint32_t now = 0;
            EXPECT_TRUE(launch.read(hit.thread, address, std::as_writable_bytes(std::span(&now, 1))));
            std::uint32_t old = now;
            launch.watches().before(hit, address, std::as_writable_bytes(std::span(&old, 1)));
            EXPECT_EQ(hit.changed, old != now);
            seen.push_back({hit.thread.thread, place.front().line, hit.kind, old, now});
        }
    }

    Handler handler;
    std::vector<Seen> seen;
    std::shared_ptr<LoadedImage> image_;
};
INSTANTIATE_TEST_SUITE_P(Carriers, WatchTests, all_carriers, carrier_name);

/// Each thread adds its number to x[0] and leaves it in x[1 + thread]; @add is on lines 101 to 104, @k on
/// lines 201 to 206.
std::string sums(const std::string& wait) {
    return R"(
define internal i32 @add(ptr %x, i32 %number) {
  %sum = load i32, ptr %x, align 4
  %next = add i32 %sum, %number
  store i32 %next, ptr %x, align 4
  ret i32 %next
}
define void @k(ptr %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr %x, i32 %t
  )" + wait +
           R"(
  %next = call i32 @add(ptr %x, i32 %t)
  %behind = getelementptr i32, ptr %place, i32 1
  store i32 %next, ptr %behind, align 4
  ret void
})";
}

TEST_P(WatchTests, a_store_that_changes_memory_stops_its_thread_behind_it) {
    watch(sums(wait()), {5, 0, 0, 0, 0}, 4, 0, watch_changes);
    EXPECT_EQ(seen, (std::vector<Seen>{{1, 103, write_kind, 5, 6},
                                       {2, 103, write_kind, 6, 8},
                                       {3, 103, write_kind, 8, 11}}));  // thread 0 adds nothing
}

TEST_P(WatchTests, reads_are_told_where_they_are_asked_for) {
    watch(sums(wait()), {5, 0, 0}, 2, 0, watch_reads);
    EXPECT_EQ(seen, (std::vector<Seen>{{0, 101, read_kind, 5, 5}, {1, 101, read_kind, 5, 5}}));
    seen.clear();
    watch(sums(wait()), {5, 0, 0}, 2, 0, watch_reads | watch_writes);
    EXPECT_EQ(seen, (std::vector<Seen>{{0, 101, read_kind, 5, 5},
                                       {0, 103, write_kind, 5, 5},
                                       {1, 101, read_kind, 5, 5},
                                       {1, 103, write_kind, 5, 6}}));
}

TEST_P(WatchTests, the_last_statement_of_a_thread_stops_it_too) {
    watch(sums(wait()), {0, 9, 9, 9, 9}, 4, 3, watch_changes);
    EXPECT_EQ(seen, (std::vector<Seen>{{2, 206, write_kind, 9, 3}}));
}

TEST_P(WatchTests, what_nobody_touches_stops_nobody) {
    watch(sums(wait()), {0, 0, 0, 77, 0, 0}, 1, 3, watch_reads | watch_writes | watch_changes);
    EXPECT_TRUE(seen.empty());
}

TEST_P(WatchTests, the_handler_chooses_threads_on_their_own_stacks) {
    handler.wanted = [](std::uint32_t thread) { return thread == 2; };
    watch(sums(wait()), {5, 0, 0, 0, 0}, 4, 0, watch_changes);
    EXPECT_EQ(seen, (std::vector<Seen>{{2, 103, write_kind, 6, 8}}));
}

TEST_P(WatchTests, atomics_wide_stores_fills_and_copies_are_accesses) {
    watch(R"(
define void @k(ptr %x) {
  %old = atomicrmw add ptr %x, i32 3 seq_cst
  %pair = cmpxchg ptr %x, i32 4, i32 9 seq_cst seq_cst
  %same = cmpxchg ptr %x, i32 4, i32 1 seq_cst seq_cst
  store <4 x i32> <i32 2, i32 2, i32 2, i32 2>, ptr %x, align 16
  call void @llvm.memset.p0.i64(ptr %x, i8 1, i64 32, i1 false)
  %from = getelementptr i32, ptr %x, i32 8
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %from, i64 32, i1 false)
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1))",
          {1, 1, 1, 1, 1, 1, 1, 1, 60, 61, 62, 63, 64, 65, 66, 67}, 1, 0, watch_changes);
    EXPECT_EQ(seen, (std::vector<Seen>{{0, 101, write_kind, 1, 4},
                                       {0, 102, write_kind, 4, 9},
                                       {0, 104, write_kind, 9, 2},
                                       {0, 105, write_kind, 2, 0x01010101},
                                       {0, 107, write_kind, 0x01010101, 60}}));
    seen.clear();
}

TEST_P(WatchTests, an_access_that_begins_in_front_of_what_is_watched_reaches_into_it) {
    const char* body = R"(
define void @k(ptr %x) {
  store <4 x i32> <i32 2, i32 2, i32 2, i32 3>, ptr %x, align 16
  %middle = getelementptr i32, ptr %x, i32 2
  store i64 0, ptr %middle, align 8
  ret void
})";
    watch(body, {1, 1, 1, 1}, 1, 3, watch_changes);
    EXPECT_EQ(seen, (std::vector<Seen>{{0, 101, write_kind, 1, 3}, {0, 103, write_kind, 3, 0}}));
}

TEST_P(WatchTests, an_atomic_operation_reads_too) {
    watch(R"(
define void @k(ptr %x) {
  %old = atomicrmw add ptr %x, i32 3 seq_cst
  store i32 7, ptr %x, align 4
  ret void
})",
          {1}, 1, 0, watch_reads);
    EXPECT_EQ(seen, (std::vector<Seen>{{0, 101, write_kind, 1, 4}}));
}

TEST_P(WatchTests, a_loop_that_the_optimiser_makes_a_fill_of_is_seen) {
    watch(R"(
define void @k(ptr %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr i32, ptr %x, i64 %i
  store i32 0, ptr %place, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %done
done:
  ret void
})",
          std::vector<std::uint32_t>(64, 8), 1, 50, watch_changes);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ((std::array{seen[0].old_value, seen[0].new_value}), (std::array{8U, 0U}));
}

TEST_P(WatchTests, columns_are_pieces_of_memory) {
    DeviceArray<std::uint32_t> array(16);
    std::vector<std::uint64_t> touched;
    const std::uint64_t base = array.pointer();
    handler.begins = [&](StoppedLaunch& launch) {
        MemoryWatch watch;
        watch.id = 7;
        watch.ranges = {{base + 4, 4, 16, 4}};  // the second column of a 4x4 matrix
        EXPECT_TRUE(launch.watch(watch));
    };
    handler.at_stop = [&](StoppedLaunch& launch) {
        for (const WatchHit& hit : launch.watch_hits()) touched.push_back((hit.address - base) / 4);
    };
    const std::string fill = R"(
define void @k(ptr %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr %x, i32 %t
  store i32 1, ptr %place, align 4
  ret void
})";
    (void)run(fill, std::vector<std::uint32_t>(16, 0), 1, 16, &handler, array);
    EXPECT_EQ(touched, (std::vector<std::uint64_t>{1, 5, 9, 13}));
}

TEST_P(WatchTests, shared_memory_is_watched_in_one_block_or_in_all) {
    const std::string body = std::string(R"(
@s = internal addrspace(3) global [8 x i32] undef, align 4
define void @k(ptr %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %place = getelementptr i32, ptr addrspace(3) @s, i32 %t
  store i32 %b, ptr addrspace(3) %place, align 4
  )") + wait() + R"(
  %value = load i32, ptr addrspace(3) %place, align 4
  %out = getelementptr i32, ptr %x, i32 %b
  store i32 %value, ptr %out, align 4
  ret void
})";
    for (const bool all : {false, true}) {
        DeviceArray<std::uint32_t> array(4);
        std::vector<std::uint64_t> blocks;
        std::vector<std::uint32_t> threads;
        handler.begins = [&](StoppedLaunch& launch) {
            MemoryWatch watch;
            watch.space = WatchedSpace::shared;
            watch.ranges = {{20, 4}};
            if (!all) watch.block = 2;
            EXPECT_TRUE(launch.watch(watch));
            watch.id = 1;
            watch.ranges = {{100000, 4}};  // beyond the end
            EXPECT_FALSE(launch.watch(watch));
        };
        handler.at_stop = [&](StoppedLaunch& launch) {
            blocks.push_back(launch.stopped_thread().block);
            threads.push_back(launch.stopped_thread().thread);
        };
        EXPECT_EQ(run(body, {9, 9, 9, 9}, 4, 8, &handler, array), (std::vector<std::uint32_t>{0, 1, 2, 3}));
        EXPECT_EQ(blocks, all ? (std::vector<std::uint64_t>{0, 1, 2, 3}) : std::vector<std::uint64_t>{2});
        for (const std::uint32_t thread : threads) EXPECT_EQ(thread, 5U);
    }
}

TEST_P(WatchTests, can_be_taken_back_and_set_at_a_stop_and_writes_of_the_handler_are_no_hits) {
    DeviceArray<std::uint32_t> array(5);
    const std::uint64_t base = array.pointer();
    handler.begins = [&](StoppedLaunch& launch) { launch.stop_at(kernel_file, 204); };
    int stops = 0;
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (++stops == 1) {
            EXPECT_TRUE(launch.watch_hits().empty());
            launch.stop_at(kernel_file, 204, false);
            MemoryWatch watch;
            watch.id = 7;
            watch.ranges = {{base, 4}};
            EXPECT_TRUE(launch.watch(watch));
            const std::uint32_t value = 100;
            EXPECT_TRUE(launch.write(launch.stopped_thread(), base, std::as_bytes(std::span(&value, 1))));
            watch.id = 8;
            watch.ranges = {{base + 1000000, 4}};
            EXPECT_FALSE(launch.watch(watch));
            return;
        }
        note(launch, base);
        if (seen.size() == 2) launch.unwatch(7);
    };
    EXPECT_EQ(run(sums(wait()), {5, 0, 0, 0, 0}, 1, 4, &handler, array),
              (std::vector<std::uint32_t>{106, 100, 101, 103, 106}));
    EXPECT_EQ(seen, (std::vector<Seen>{{1, 103, write_kind, 100, 101}, {2, 103, write_kind, 101, 103}}));
}

TEST_P(WatchTests, another_thread_that_is_made_to_run_stops_at_its_access) {
    DeviceArray<std::uint32_t> array(5);
    const std::uint64_t base = array.pointer();
    handler.begins = [&](StoppedLaunch& launch) { launch.stop_at(kernel_file, 201); };
    int stops = 0;
    handler.at_stop = [&](StoppedLaunch& launch) {
        if (++stops != 1) return;
        launch.stop_at(kernel_file, 201, false);
        MemoryWatch watch;
        watch.id = 7;
        watch.ranges = {{base + 16, 4}};
        EXPECT_TRUE(launch.watch(watch));
        ThreadState state = launch.run({0, 3});
        while (state == ThreadState::at_barrier || state == ThreadState::in_warp) {
            for (const std::uint32_t other : {0U, 1U, 2U}) (void)launch.run({0, other});
            state = launch.run({0, 3});
        }
        EXPECT_EQ(state, ThreadState::stopped);
        note(launch, base + 16);
    };
    (void)run(sums(wait()), {0, 0, 0, 0, 0}, 1, 4, &handler, array);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ((std::array{seen[0].thread, seen[0].line}), (std::array{3U, 206U}));
}

/// What hits of variables say: "thread line>where: old>new", lines of the assignment and of the stop.
/// (with_lines() declares variables at the end of the first block.)
class WatchVariableTests : public WatchTests {
  protected:
    /// Watches a variable of the innermost function from the first stop at `line` of thread 1 on.
    std::vector<std::uint32_t> watch_variable(const std::string& body, const char* name, std::uint32_t line,
                                              std::uint32_t threads) {
        DeviceArray<std::uint32_t> array(threads);
        handler.begins = [=](StoppedLaunch& launch) { launch.stop_at(kernel_file, line); };
        handler.at_stop = [this, name, line](StoppedLaunch& launch) {
            const ThreadRef thread = launch.stopped_thread();
            if (launch.watch_hits().empty()) {
                if (thread.thread != 1) return;
                launch.stop_at(kernel_file, line, false);
                EXPECT_TRUE(launch.declares({thread, 0}, name));
                EXPECT_FALSE(launch.declares({thread, 0}, "nothing"));
                EXPECT_TRUE(launch.watch(VariableWatch{7, {thread, 0}, name, 0, 0}));
                EXPECT_FALSE(launch.watch(VariableWatch{8, {thread, 0}, "nothing", 0, 0}));
                EXPECT_FALSE(launch.watch(VariableWatch{8, {thread, 9}, name, 0, 0}));
                return;
            }
            tell(launch);
        };
        const auto values = run(body, std::vector<std::uint32_t>(threads), 1, threads, &handler, array);
        EXPECT_EQ(values, run(body, std::vector<std::uint32_t>(threads), 1, threads, nullptr, array));
        return values;
    }
    void tell(StoppedLaunch& launch) {
        EXPECT_FALSE(launch.is_inside_statement());
        const auto text = [&](const WatchHit& hit, bool before) -> std::string {
            const findings::VariableValue value = launch.watches().variable(hit, before);
            if (!value.known) return "none";
            std::int32_t number = 0;
            std::memcpy(&number, value.bytes.data(), sizeof number);
            return std::to_string(number);
        };
        for (const WatchHit& hit : launch.watch_hits()) {
            const findings::CallChain place = launch.location(launch.stopped_thread());
            std::string told = std::to_string(hit.thread.thread) + " " +
                               std::to_string(launch.launch().location(hit.site).front().line) + ">" +
                               (place.empty() ? "-" : std::to_string(place.front().line)) + ": ";
            told +=
                hit.kind == WatchHit::Kind::frame_left ? "left" : text(hit, true) + ">" + text(hit, false);
            told_.push_back(told);
        }
    }
    using Told = std::vector<std::string>;
    Told told_;
};
INSTANTIATE_TEST_SUITE_P(Carriers, WatchVariableTests, all_carriers, carrier_name);

TEST_P(WatchVariableTests, assignments_are_told_in_the_thread_that_has_the_variable) {
    const std::string body = std::string(R"(
define void @k(ptr %x) {
  %total = alloca i32
  br label %body
body:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr %total, align 4
  %v = load i32, ptr %total, align 4
  %n = add i32 %v, 2
  store i32 %n, ptr %total, align 4
  )") + wait() + R"(
  store i32 %n, ptr %total, align 4
  store i32 9, ptr %total, align 4
  %w = load i32, ptr %total, align 4
  %place = getelementptr i32, ptr %x, i32 %t
  store i32 %w, ptr %place, align 4
  ret void
})";
    (void)watch_variable(body, "total", 103, 3);
    EXPECT_EQ(told_, (Told{"1 104>105: none>1", "1 107>108: 1>3", "1 110>111: 3>9"}));
    // The thread's end is the function's.
    EXPECT_EQ(handler.ends, (std::vector<std::uint32_t>{1}));
}

TEST_P(WatchVariableTests, a_function_that_returns_ends_the_watch) {
    const char* body = R"(
define internal i32 @f(i32 %n) {
entry:
  %own = alloca i32
  br label %begin
begin:
  store i32 %n, ptr %own, align 4
  %done = icmp eq i32 %n, 0
  br i1 %done, label %end, label %more
more:
  %less = sub i32 %n, 1
  %below = call i32 @f(i32 %less)
  %sum = add i32 %below, %n
  store i32 %sum, ptr %own, align 4
  br label %end
end:
  %value = load i32, ptr %own, align 4
  ret i32 %value
}
define void @k(ptr %x) {
  %a = call i32 @f(i32 2)
  %b = call i32 @f(i32 2)
  %s = add i32 %a, %b
  store i32 %s, ptr %x, align 4
  ret void
})";
    (void)watch_variable(body, "own", 106, 2);
    EXPECT_EQ(told_, (Told{"1 109>111: 2>3", "1 112>202: left"}));
}

TEST_P(WatchVariableTests, an_inlined_function_ends_the_watch_too) {
    const char* body = R"(
define internal i32 @g(i32 %n) {
  %own = alloca i32
  br label %body
body:
  store i32 %n, ptr %own, align 4
  %v = load i32, ptr %own, align 4
  %m = mul i32 %v, 3
  store i32 %m, ptr %own, align 4
  %w = load i32, ptr %own, align 4
  ret i32 %w
}
define void @k(ptr %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = call i32 @g(i32 %t)
  %b = call i32 @g(i32 %a)
  %place = getelementptr i32, ptr %x, i32 %t
  store i32 %b, ptr %place, align 4
  ret void
})";
    (void)watch_variable(body, "own", 104, 3);
    ASSERT_EQ(told_.size(), 2U);
    EXPECT_EQ(told_[0], "1 106>107: 1>3");
    EXPECT_NE(told_[1].find("left"), std::string::npos) << told_[1];
}

}  // namespace
}  // namespace cudasim::execution
