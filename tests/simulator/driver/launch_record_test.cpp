// Recording a launch and running it again: what is captured, where it is restored, what differs.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "simulator/driver/launch_options.h"
#include "tests/simulator/driver/recording.h"
#include "tests/simulator/thread_sanitizer.h"

namespace cudasim::driver {
namespace {

using testing::Recording;
using testing::replayed;
using testing::texts;

const RecordedMemory& named(const LaunchRecord& record, std::string_view label) {
    return *std::ranges::find(record.memory, label, &RecordedMemory::label);
}

TEST(LaunchRecord, holds_what_pointers_lead_to_and_nothing_else) {
    Recording recording;
    const LaunchRecord record = recording.record();
    for (const char* label : {"out", "in", "table", "target", "global variables of the image"})
        EXPECT_TRUE(named(record, label).before) << label;
    EXPECT_FALSE(named(record, "unreachable").before);
    EXPECT_TRUE(named(record, "global variables of the image").globals);
    EXPECT_EQ(record.outcome.printed, "sum 100\n");
    EXPECT_EQ(record.outcome.blocks_run, 1U);
    std::int32_t value = 0;
    std::memcpy(&value, named(record, "target").before->data(), 4);
    EXPECT_EQ(value, 100);
}

TEST(LaunchRecord, is_reproduced_at_the_same_addresses_when_they_are_free) {
    LaunchRecord record;
    {
        Recording recording;
        (void)
            recording.record();  // the image's variable counts launches: the second begins with another value
        record = recording.record();
    }
    for (int i = 0; i < 3; ++i) {
        const auto run = replayed(record);
        EXPECT_TRUE(run.same_addresses);
        EXPECT_EQ(texts(run.differences), "");
        EXPECT_EQ(run.printed, "sum 100\n");
    }
}

TEST(LaunchRecord, memory_that_holds_addresses_is_not_moved) {
    Recording recording;
    const LaunchRecord record = recording.record();
    try {
        (void)replayed(record);  // the recording's device has the place
        FAIL() << "restored";
    } catch (const RecordError& error) {
        EXPECT_NE(std::string(error.what()).find("'table' of 8 bytes holds an address"), std::string::npos)
            << error.what();
    }
}

TEST(LaunchRecord, memory_of_the_host_that_holds_addresses_is_not_moved) {
    Recording recording;
    // The table is in memory that does not move: the host's.
    alignas(8) static std::int32_t target = 7;
    alignas(8) static const std::int32_t* table = &target;
    recording.device->device.adopt(reinterpret_cast<std::uint64_t>(&table), 8, "host table");
    recording.device->device.adopt(reinterpret_cast<std::uint64_t>(&target), 4, "host target");
    const auto address = reinterpret_cast<std::uint64_t>(&table);
    std::memcpy(recording.parameters.data() + 16, &address, 8);
    const LaunchRecord record = recording.record();
    EXPECT_EQ(named(record, "host table").kind, MemoryKind::adopted);
    // Here the static variables are taken, so they move, too, and the table's word would have to be changed.
    EXPECT_THROW((void)replayed(record), RecordError);
}

TEST(LaunchRecord, runs_at_other_addresses_where_no_memory_holds_one) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("arenas have no fixed places");
    static const image::KernelImage image = execution::ir_image(R"(
define void @k(ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr i32, ptr %out, i32 %t
  store i32 %t, ptr %to
  ret void
})");
    auto device = std::make_shared<SimulatedDevice>(execution::h100());
    LaunchPlan plan = make_launch_plan(device, device->device.load(image), image, "k");
    plan.configuration = {{1}, {5}};
    const auto out = device->device.allocate(16, {.label = "out"});
    const auto bytes = image.serialise();
    LaunchRecord described{
        .kernel = "k",
        .display_name = "k",
        .image = Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())),
        .configuration = plan.configuration,
        .options = plan.options};
    described.options.workers = 1;
    const auto word = std::as_bytes(std::span(&out, 1));
    described.parameters.assign(word.begin(), word.end());
    LaunchCapture capture(*device, described, plan.loaded.get(), {}, {.keep_after = true});
    described.options.observers.add(capture);
    const LaunchRecord record = capture.finish(run(plan, described.parameters, described.options), true);
    EXPECT_NE(record.outcome.findings.find("\"error\""),
              std::string::npos);  // the fifth thread writes behind the end
    const auto run = replayed(record);
    EXPECT_FALSE(run.same_addresses);
    EXPECT_EQ(texts(run.differences), "");
}

TEST(LaunchRecord, faults_are_reproduced_with_the_object_they_are_about) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("no memory checks");
    LaunchRecord record;
    {
        Recording recording(8, true);
        record = recording.record();
        EXPECT_NE(record.outcome.findings.find("\"name\": \"out\""), std::string::npos)
            << record.outcome.findings;
    }
    EXPECT_EQ(texts(replayed(record).differences), "");
}

/// A record may come from anybody: an image that claims that its accesses need no check is checked all the
/// same.
TEST(LaunchRecord, what_an_image_claims_of_its_accesses_is_not_believed) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("no memory checks");
    LaunchRecord record;
    {
        Recording recording;
        record = recording.record();
    }
    for (const char* claim : {"cudasim.in_bounds", "cudasim.internal"}) {
        static std::int32_t of_the_host = 7;
        const auto image = execution::ir_image(
            "define void @k(ptr %out, ptr %in, ptr %table) {\n  store i32 1, ptr inttoptr (i64 " +
            std::to_string(reinterpret_cast<std::uint64_t>(&of_the_host)) + " to ptr), !" + claim +
            " !{}\n  ret void\n}\n");
        const auto bytes = image.serialise();
        record.image = Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        std::erase_if(record.memory, [](const RecordedMemory& memory) { return memory.globals; });
        EXPECT_NE(texts(replayed(record).differences).find("the findings differ"), std::string::npos)
            << claim << ": " << texts(replayed(record).differences);
        EXPECT_EQ(of_the_host, 7) << claim;
    }
}

TEST(LaunchRecord, uses_after_free_are_reproduced) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("no memory checks");
    LaunchRecord record;
    {
        Recording recording;
        recording.device->free(recording.memory.out);
        record = recording.record();
        EXPECT_EQ(named(record, "out").kind, MemoryKind::freed);
        EXPECT_NE(record.outcome.findings.find("freed"), std::string::npos) << record.outcome.findings;
    }
    EXPECT_EQ(texts(replayed(record).differences), "");
}

TEST(LaunchRecord, differences_name_memory_and_bytes) {
    LaunchRecord record;
    {
        Recording recording;
        record = recording.record({.keep_after = true});
    }
    auto& target = const_cast<RecordedMemory&>(named(record, "target"));
    Content changed(4);
    const std::int32_t value = 101;
    std::memcpy(changed.data(), &value, 4);
    target.before = changed;
    const auto run = replayed(record);
    const std::string text = texts(run.differences);
    EXPECT_NE(text.find("what the kernel printed differs"), std::string::npos) << text;
    EXPECT_NE(text.find("'out' of 32 bytes, in 8 bytes, the first at byte 0"), std::string::npos) << text;
    EXPECT_NE(text.find("'target'"), std::string::npos) << text;
    EXPECT_EQ(text.find("'in'"), std::string::npos) << text;
}

TEST(LaunchRecord, frees_wait_until_memory_has_been_taken) {
    LaunchRecord record;
    {
        Recording recording;
        recording.while_running = [&] {
            recording.device->free(recording.memory.out);
            EXPECT_TRUE(recording.device->device.contains(recording.memory.out, 4));
        };
        record = recording.record({.keep_after = true});
        EXPECT_FALSE(recording.device->device.contains(recording.memory.out, 4));
        EXPECT_TRUE(named(record, "out").after);
    }
    EXPECT_EQ(texts(replayed(record).differences), "");
}

TEST(LaunchRecord, says_why_there_is_none) {
    Recording recording;
    LaunchCapture never(*recording.device, {}, nullptr, {}, {});
    try {
        (void)never.finish({}, false);
        FAIL() << "recorded";
    } catch (const RecordError& error) {
        EXPECT_NE(std::string(error.what()).find("before it began"), std::string::npos) << error.what();
    }
}

TEST(LaunchRecord, holds_memory_as_it_was_when_the_launch_began) {
    Recording recording;
    (void)recording.record();  // compiled
    auto& raw = recording.device->device;
    const std::uint64_t offset =
        raw.global_range(*recording.plan.loaded, "launches").base - raw.globals_base(*recording.plan.loaded);
    const LaunchRecord described{.kernel = "k", .display_name = "k", .parameters = recording.parameters};
    LaunchCapture capture(*recording.device, described, recording.plan.loaded.get(), {},
                          {.keep_after = true});
    execution::LaunchOptions options = recording.plan.options;
    (void)run(recording.plan, recording.parameters, options);  // another host thread's, say
    options.observers.add(capture);
    const LaunchRecord record = capture.finish(run(recording.plan, recording.parameters, options), true);
    const auto globals = std::ranges::find(record.memory, true, &RecordedMemory::globals);
    const auto count_of = [&](const std::optional<Content>& content) {
        std::int64_t count = 0;
        std::memcpy(&count, content->data() + offset, sizeof count);
        return count;
    };
    EXPECT_EQ(count_of(globals->before), 7);
    EXPECT_EQ(count_of(globals->after), 8);
}

TEST(LaunchRecord, is_made_while_another_observer_looks_on) {
    struct Counts final : execution::LaunchObserver {
        void launch_begins(const execution::LaunchBegin&) override { ++begun; }
        void launch_ends(std::span<const findings::Finding>) override { ++ended; }
        void block_begins(execution::ObservedBlock&) override { ++blocks; }
        std::atomic<int> begun = 0, ended = 0, blocks = 0;
    } looks_on;
    struct Sees final : execution::AccessObserver {
        void access(execution::ThreadHandle&, const execution::ObservedAccess&) override {}
    } sees;
    LaunchRecord record;
    {
        Recording recording;
        recording.plan.options.observers.add(looks_on);
        recording.plan.options.access_observers.add(sees);
        record = recording.record();
    }
    EXPECT_EQ(looks_on.begun, 1);
    EXPECT_EQ(looks_on.ended, 1);
    EXPECT_EQ(looks_on.blocks, static_cast<int>(record.outcome.blocks_run));
    EXPECT_GT(looks_on.blocks, 0);
    EXPECT_TRUE(record.options.observers.empty());
    EXPECT_TRUE(record.options.access_observers.empty());
    const auto run = replayed(record);
    EXPECT_EQ(texts(run.differences), "");
    EXPECT_EQ(looks_on.begun, 1);
}

TEST(LaunchRecord, is_captured_in_less_than_three_times_the_time_of_a_copy) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers slow the search down";
#endif
    if (std::getenv("CUDASIM_TEST_EMULATED")) GTEST_SKIP() << "emulation slows the search down";
    using clock = std::chrono::steady_clock;
    constexpr std::uint64_t bytes = 128 << 20;
    Recording recording;
    const auto large = recording.device->device.allocate(bytes, {.label = "large"});
    std::memcpy(recording.parameters.data(), &large, 8);
    const LaunchRecord described{.kernel = "k", .display_name = "k", .parameters = recording.parameters};
    double best_copy = 1e9, best_capture = 1e9;
    for (int i = 0; i < 5; ++i) {
        auto begin = clock::now();
        {
            Content copy(bytes);
            std::memcpy(copy.data(), reinterpret_cast<const void*>(large), bytes);
        }
        best_copy = std::min(best_copy, std::chrono::duration<double>(clock::now() - begin).count());
        begin = clock::now();
        {
            LaunchCapture capture(*recording.device, described, nullptr, {}, {});
            capture.launch_begins({});
            capture.launch_ends({});
            (void)capture.finish({}, true);
        }
        best_capture = std::min(best_capture, std::chrono::duration<double>(clock::now() - begin).count());
    }
    RecordProperty("ratio", std::to_string(best_capture / best_copy));
    EXPECT_LT(best_capture, 3 * best_copy);
}

TEST(LaunchOptionsByName, every_option_keeps_its_value) {
    execution::LaunchOptions options;
    set_launch_option(options, "policy", std::string("random"));
    set_launch_option(options, "seed", std::uint64_t{1} << 63);
    set_launch_option(options, "time_limit", 1.5);
    set_launch_option(options, "check", std::string("none"));
    execution::LaunchOptions copy;
    for (const auto& row : launch_option_table()) row.set(copy, row.name, row.get(options));
    EXPECT_EQ(copy.policy, execution::Policy::random);
    EXPECT_EQ(copy.seed, std::uint64_t{1} << 63);
    EXPECT_EQ(copy.time_limit_seconds, 1.5);
    EXPECT_FALSE(copy.compile.instrumentations.contains(jit::memory_checks()));
    for (const auto& row : launch_option_table()) EXPECT_EQ(row.get(copy), row.get(options)) << row.name;
}

TEST(LaunchOptionsByName, wrong_values_say_what_is_accepted) {
    execution::LaunchOptions options;
    const auto message = [&](std::string_view name, const OptionValue& value) -> std::string {
        try {
            set_launch_option(options, name, value);
        } catch (const OptionError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message("policy", std::string("up")),
              "the launch option policy is one of forward, reverse, random, lockstep, preempt, pct, starve, "
              "not 'up'");
    EXPECT_EQ(message("workers", std::uint64_t{1} << 33),
              "the launch option workers is an integer from 0 to 4294967295");
    EXPECT_EQ(message("strict", 1.0), "the launch option strict is a bool");
    EXPECT_EQ(message("time_limit", -1.0), "the launch option time_limit is a number that is not negative");
    EXPECT_NE(message("polcy", true).find("has no option 'polcy'; it has: policy, carrier"),
              std::string::npos);
}

TEST(Arena, is_where_it_was_in_another_run) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("arenas have no fixed places");
    const memory::Arena first(64 << 20);
    EXPECT_EQ(first.base() % memory::Arena::slot_bytes, 0U);
    const memory::Arena second(64 << 20);
    EXPECT_NE(first.base(), second.base());
    memory::Arena wanted(64 << 20, second.base() + memory::Arena::slot_bytes * 5);
    EXPECT_EQ(wanted.base(), second.base() + memory::Arena::slot_bytes * 5);
}

TEST(Arena, allocates_at_an_address_once) {
    memory::Arena arena(64 << 20);
    const std::uint64_t address = arena.base() + (1 << 20);
    EXPECT_TRUE(arena.allocate_at(address, 1000, "here", true));
    EXPECT_FALSE(arena.allocate_at(address, 8, "again", true));
    EXPECT_FALSE(arena.allocate_at(address + 512, 8, "inside", true));
    EXPECT_FALSE(arena.allocate_at(address + 1280 + 8, 8, "not aligned", true));
    EXPECT_FALSE(arena.allocate_at(address - 256, 1000, "overlapping", true));
    EXPECT_TRUE(arena.allocate_at(address + 1280, 8, "behind its redzone", true));
    EXPECT_FALSE(arena.allocate_at(0x1000, 8, "elsewhere", true));
    for (int i = 0; i < 10000; ++i) {
        const auto other = arena.allocate(200, "", false);
        ASSERT_TRUE(other);
        EXPECT_TRUE(*other + 456 <= address || *other >= address + 1280 + 512) << *other - arena.base();
    }
    EXPECT_TRUE(arena.free(address));
}

}  // namespace
}  // namespace cudasim::driver
