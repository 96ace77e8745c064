// Memory that runs out during a launch ends the launch, not the process, and the next launch works. Runs in a
// process of its own, because limits are the process's.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "simulator/execution/stop.h"
#include "simulator/memory/host_memory.h"
#include "tests/simulator/address_limits.h"
#include "tests/simulator/execution/ir_kernel.h"
#include "tests/simulator/execution/ir_lines.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

/// While it lives the process may have so much more address space than it has.
class AddressSpace {
  public:
    explicit AddressSpace(std::uint64_t more) {
        getrlimit(RLIMIT_AS, &before_);
        const rlimit all{~rlim_t{0} >> 1, before_.rlim_max};
        setrlimit(RLIMIT_AS, &all);  // so that what is used is known
        const std::uint64_t used = all.rlim_cur - memory::address_limit()->left;
        const rlimit limit{used + more, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    }
    ~AddressSpace() { setrlimit(RLIMIT_AS, &before_); }
    AddressSpace(const AddressSpace&) = delete;
    AddressSpace& operator=(const AddressSpace&) = delete;

  private:
    rlimit before_{};
};

/// Every thread waits for its block twice, on a stack of 4 MiB.
class Waiting final : public HostKernel {
  public:
    void run(ThreadHandle& thread) override {
        ++started;
        (void)thread.barrier(1);
        (void)thread.barrier(2);
        ++ended;
    }
    [[nodiscard]] std::size_t stack_bytes() const override { return 4 << 20; }
    [[nodiscard]] bool unwinds() const override { return unwinds_; }
    explicit Waiting(bool unwinds) : unwinds_(unwinds) {}
    std::atomic<int> started{0}, ended{0};

  private:
    bool unwinds_;
};

class MemoryShortage : public ::testing::TestWithParam<unsigned> {
  protected:
    void SetUp() override {
        if (!address_limits_are_kept()) GTEST_SKIP() << "the address space cannot be limited here";
        own_ =
            std::make_unique<Device>(h100());  // its memory is reserved before the address space is limited
    }
    LaunchResult launch(HostKernel& kernel, std::uint32_t blocks, std::uint32_t threads) {
        LaunchOptions options;
        options.workers = GetParam();
        return own_->launch(kernel, {{blocks}, {threads}}, options);
    }
    std::unique_ptr<Device> own_;
};
INSTANTIATE_TEST_SUITE_P(Workers, MemoryShortage, ::testing::Values(1, 3));

TEST_P(MemoryShortage, a_launch_without_room_for_its_stacks_is_one_finding_and_the_next_works) {
    for (const bool unwinds : {false, true}) {
        const AddressSpace limited(std::uint64_t{512} << 20);
        Waiting kernel(unwinds);
        const LaunchResult result = launch(kernel, 6, 1024);
        ASSERT_EQ(result.findings.size(), 1U) << messages(result);
        const auto& finding = *result.error();
        EXPECT_EQ(finding.kind, FindingKind::out_of_memory);
        EXPECT_NE(finding.message.find("a block of 1024 that waits has a stack of 4 MiB"), std::string::npos)
            << finding.message;
        EXPECT_NE(finding.message.find("ulimit -v"), std::string::npos) << finding.message;
        EXPECT_GT(kernel.started, 10);
        EXPECT_EQ(kernel.ended, unwinds ? kernel.started.load() : 0);
        Waiting small(unwinds);
        EXPECT_EQ(messages(launch(small, 6, 8)), "");
        EXPECT_EQ(small.ended, 48);
    }
    Waiting kernel(false);
    EXPECT_EQ(messages(launch(kernel, 6, 1024)), "");
    EXPECT_EQ(kernel.ended, 6 * 1024);
}

TEST_P(MemoryShortage, stacks_that_are_known_to_have_no_room_are_refused_before_any_thread_runs) {
    const DevicePointer array = own_->allocate(4);
    const auto image = ir_image(R"(
define void @k(ptr %p) {
  %a = alloca [300000 x i8], align 16
  %i = load i32, ptr %p, align 4, !cudasim.in_bounds !0
  %n = zext i32 %i to i64
  %e = getelementptr i8, ptr %a, i64 %n
  store i8 1, ptr %e, align 1, !cudasim.in_bounds !0
  %old = atomicrmw add ptr %p, i32 0 seq_cst, !cudasim.in_bounds !0
  call void @llvm.nvvm.barrier0()
  %v = load i8, ptr %e, align 1, !cudasim.in_bounds !0
  %w = zext i8 %v to i32
  store i32 %w, ptr %p, align 4, !cudasim.in_bounds !0
  ret void
}
!0 = !{})");
    const std::uint64_t parameters[2] = {array, 0};
    LaunchOptions options;
    options.workers = GetParam();
    options.carrier = Carrier::fiber;
    const auto loaded = own_->load(image);
    const auto launch_it = [&](std::uint32_t threads) {
        own_->fill(array, 0, 4);
        return own_->launch(*loaded, "k", {{2}, {threads}}, std::as_bytes(std::span(parameters)), options);
    };
    EXPECT_EQ(messages(launch_it(32)), "");
    {
        const AddressSpace limited(std::uint64_t{256} << 20);
        const LaunchResult result = launch_it(1024);
        ASSERT_EQ(result.findings.size(), 1U) << messages(result);
        EXPECT_EQ(result.error()->kind, FindingKind::out_of_memory);
        EXPECT_EQ(result.error()->message.find("were made"), std::string::npos) << result.error()->message;
        EXPECT_EQ(messages(launch_it(32)), "");
    }
    EXPECT_EQ(messages(launch_it(1024)), "");
    int value = 0;
    own_->copy_from_device(&value, array, 4);
    EXPECT_EQ(value, 1);
}

TEST_P(MemoryShortage, threads_that_cannot_be_started_leave_the_work_to_fewer) {
    const AddressSpace limited(std::uint64_t{150} << 20);
    DeviceProfile profile = h100();
    profile.total_memory = std::uint64_t{1} << 20;
    Device own(profile);
    std::atomic<int> count{0};
    HostFunction kernel([&](ThreadHandle&) { ++count; });
    LaunchOptions options;
    options.workers = 8;
    const LaunchResult result = own.launch(kernel, {{200'000}, {32}}, options);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(count, 200'000 * 32);
}

std::ptrdiff_t host_threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
}

TEST(Workers, absurd_numbers_of_workers_start_no_more_threads_than_are_of_use) {
    Device own(h100());
    HostFunction kernel([](ThreadHandle&) {});
    LaunchOptions options;
    options.workers = 100'000;
    const std::ptrdiff_t before = host_threads();
    EXPECT_EQ(messages(own.launch(kernel, {{200'000}, {32}}, options)), "");
    EXPECT_LE(host_threads() - before, std::max(8L, 4 * sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Starts a block when there is no memory for it, and again when there is.
class Starter final : public StopHandler {
  public:
    std::string refused, started = "not called";
    void launch_begins(StoppedLaunch& launch) override { launch.stop_everywhere(); }
    void stopped(StoppedLaunch& launch) override {
        launch.stop_everywhere(false);
        {
            const AddressSpace limited(8 << 20);
            refused = launch.start_block(2);
            EXPECT_EQ(launch.run({2, 1}), ThreadState::not_started);
        }
        started = launch.start_block(2);
    }
};

TEST(MemoryOfStartedBlocks, is_asked_for_before_they_start) {
    if (!address_limits_are_kept()) GTEST_SKIP() << "the address space cannot be limited here";
    const auto image = with_lines(ir_image(R"(
define void @k(ptr %out) {
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  call void @llvm.nvvm.barrier0()
  %p = getelementptr i32, ptr %out, i32 %c
  %old = atomicrmw add ptr %p, i32 1 monotonic
  ret void
})"));
    DeviceArray<int> out(4);
    Starter starter;
    LaunchOptions options;
    options.carrier = Carrier::fiber;
    options.stop_handler = &starter;
    const auto loaded = device().load(image);
    const std::uint64_t parameters[1] = {out.pointer()};
    const auto result =
        device().launch(*loaded, "k", {{4}, {8}, 0}, std::as_bytes(std::span(parameters)), options);
    EXPECT_EQ(messages(result), "");
    EXPECT_TRUE(starter.refused.starts_with("there is no memory for block 2 besides the 1 on the device: "))
        << starter.refused;
    EXPECT_EQ(starter.started, "");
    EXPECT_EQ(out.read(), std::vector<int>(4, 8));
}

}  // namespace
}  // namespace cudasim::execution
