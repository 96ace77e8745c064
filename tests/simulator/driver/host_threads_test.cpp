// The driver from several host threads: launches, recorded launches, frees and copies at the same time. What
// ThreadSanitizer is run over.
#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "simulator/driver/record_file.h"
#include "tests/simulator/driver/recording.h"

namespace cudasim::driver {
namespace {

using testing::Recording;
using testing::texts;

template <typename Body>
void on_threads(unsigned count, Body body) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
    for (auto& thread : threads) thread.join();
}

TEST(HostThreads, launch_record_and_free_at_the_same_time) {
    Recording recording;
    std::atomic<int> reproduced{0}, freed{0};
    (void)recording.record();  // compiled
    on_threads(4, [&](unsigned thread) {
        for (int round = 0; round < 20; ++round) {
            if (thread % 2 == 0) {
                const LaunchRecord record = recording.record();
                EXPECT_EQ(record.outcome.printed, "sum 100\n");
                EXPECT_NE(record.outcome.findings, "");
                ++reproduced;
            } else {
                const auto pointer = recording.device->allocate(4096, {.label = "passing"});
                execution::LaunchOptions options = recording.plan.options;
                options.workers = 2;
                const auto result = run(recording.plan, recording.parameters, options);
                EXPECT_EQ(result.error(), nullptr);
                recording.device->release(pointer);  // at once, or when the others' launches are over
                ++freed;
            }
        }
    });
    EXPECT_EQ(reproduced, 40);
    EXPECT_EQ(freed, 40);
    const auto left = recording.device->device.memory_layout();
    EXPECT_EQ(std::ranges::count(left.live, std::string("passing"), &memory::Allocation::label), 0);
}

TEST(HostThreads, replay_one_record_each_on_a_device_of_its_own) {
    static const image::KernelImage image = execution::ir_image(R"(
define void @k(ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr i32, ptr %out, i32 %t
  store i32 %t, ptr %to
  ret void
})");
    LaunchRecord record;
    {
        auto device = std::make_shared<SimulatedDevice>(execution::h100());
        LaunchPlan plan = make_launch_plan(device, device->device.load(image), image, "k");
        plan.configuration = {{1}, {64}};
        plan.options = testing::launch_options();
        const auto out = device->device.allocate(256, {.label = "out"});
        const auto bytes = image.serialise();
        LaunchRecord described{
            .kernel = "k",
            .display_name = "k",
            .image = Content(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())),
            .configuration = plan.configuration,
            .options = plan.options};
        const auto word = std::as_bytes(std::span(&out, 1));
        described.parameters.assign(word.begin(), word.end());
        LaunchCapture capture(*device, described, plan.loaded.get(), {}, {});
        described.options.observers.add(capture);
        record = capture.finish(run(plan, described.parameters, described.options), true);
    }
    std::atomic<int> reproduced{0};
    for (int round = 0; round < 4; ++round) {
        std::array<std::optional<testing::Replay>, 4> replays;  // one of them at the recorded addresses
#ifdef __SANITIZE_THREAD__
        // An image is read in a child process, and ThreadSanitizer's allocator does not survive fork()
        // while other threads allocate.
        for (auto& replay : replays) replay.emplace(record, record.options);
#endif
        on_threads(4, [&](unsigned thread) {
            auto& replay = replays[thread];
            if (!replay) replay.emplace(record, record.options);
            if (texts(replay->run().differences).empty()) ++reproduced;
        });
    }
    EXPECT_EQ(reproduced, 16);
}

TEST(HostThreads, a_launch_inside_a_launch_is_refused_on_the_same_thread_only) {
    Recording recording;
    const OneLaunchPerThread only;
    EXPECT_THROW((void)run(recording.plan, recording.parameters, recording.plan.options), std::runtime_error);
    EXPECT_THROW((void)recording.record(), std::runtime_error);
    on_threads(1, [&](unsigned) {
        EXPECT_EQ(run(recording.plan, recording.parameters, recording.plan.options).error(), nullptr);
    });
}

}  // namespace
}  // namespace cudasim::driver
