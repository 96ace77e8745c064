// Core files: what a launch that fails leaves, and what keeps it from leaving anything.
#include "simulator/driver/core_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "simulator/driver/record_file.h"
#include "simulator/execution/memory_copy.h"
#include "simulator/execution/stop.h"
#include "tests/simulator/driver/recording.h"

namespace cudasim::driver {
namespace {

namespace fs = std::filesystem;
using testing::Recording;

LaunchCapture capture_of(Recording& recording, const CaptureOptions& options) {
    return {*recording.device,
            {.configuration = recording.plan.configuration,
             .options = recording.plan.options,
             .parameters = recording.parameters},
            recording.plan.loaded.get(),
            {},
            options};
}

class CoreFilesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string made = (fs::temp_directory_path() / "cudasim_cores_XXXXXX").string();
        ASSERT_NE(mkdtemp(made.data()), nullptr);
        folder = made;
        for (const char* name : {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "CUDA_COREDUMP_FILE"}) unsetenv(name);
    }
    void TearDown() override { fs::remove_all(folder); }

    [[nodiscard]] CoreSettings settings(std::uint64_t most_files = 10, std::uint64_t most_bytes = 0) const {
        return core_settings((folder / "cores").string(), most_files, most_bytes, "test");
    }
    [[nodiscard]] std::size_t files_left() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder / "cores"), fs::directory_iterator{}));
    }

    fs::path folder;
};

TEST_F(CoreFilesTest, AFailureIsCapturedAndASuccessIsNot) {
    for (const bool fails : {false, true}) {
        Recording recording(8, fails);
        LaunchCapture capture = capture_of(recording, {.only_failures = true});
        execution::LaunchOptions options = recording.plan.options;
        options.observers.add(capture);
        const auto result = run(recording.plan, recording.parameters, options);
        EXPECT_EQ(capture.wanted(), fails);
        if (!fails) continue;
        const LaunchRecord record = capture.finish(result, true);
        EXPECT_TRUE(std::ranges::any_of(record.memory,
                                        [](const auto& range) { return range.after_hash.has_value(); }));
        EXPECT_NE(record.outcome.findings.find("out-of-bounds"), std::string::npos);
    }
}

TEST_F(CoreFilesTest, ALaunchAsItWasIsThereWhileItRuns) {
    Recording recording(8);
    LaunchCapture capture = capture_of(recording, {.only_failures = true});
    EXPECT_THROW((void)capture.before_launch(), RecordError);
    execution::LaunchOptions options = recording.plan.options;
    options.observers.add(capture);
    std::optional<LaunchRecord> standing;
    options.write_output = [&](std::string_view text) {
        capture.print(text);
        standing = capture.before_launch();
        return true;
    };
    (void)run(recording.plan, recording.parameters, options);
    ASSERT_TRUE(standing);
    EXPECT_FALSE(standing->outcome.finished);
    EXPECT_EQ(standing->outcome.printed, "");
    const auto out = std::ranges::find(standing->memory, "out", &RecordedMemory::label);
    ASSERT_TRUE(out != standing->memory.end() && out->before);
    // The poison of fresh memory, not what the kernel has written.
    std::int32_t first = 0;
    std::memcpy(&first, out->before->data(), 4);
    EXPECT_LT(first, 0);
}

/// A launch that can go back.
class KeepsHistory final : public execution::StopHandler {
  public:
    void launch_begins(execution::StoppedLaunch& launch) override {
        EXPECT_EQ(launch.keep_history(std::uint64_t{1} << 30), "");
    }
    void stopped(execution::StoppedLaunch&) override {}
};

class KnowsCopy final : public execution::LaunchObserver {
  public:
    void launch_begins(const execution::LaunchBegin& launch) override { copy = launch.memory; }
    std::shared_ptr<const execution::MemoryCopy> copy;
};

TEST_F(CoreFilesTest, ALaunchThatCanGoBackIsCopiedOnce) {
    for (const bool fails : {false, true}) {
        Recording recording(8, fails);
        LaunchCapture capture = capture_of(recording, {.only_failures = true});
        KeepsHistory handler;
        KnowsCopy knows;
        execution::LaunchOptions options = recording.plan.options;
        options.stop_handler = &handler;
        options.observers.add(capture);
        options.observers.add(knows);
        std::optional<LaunchRecord> standing;
        options.write_output = [&](std::string_view) {
            standing = capture.before_launch();
            return true;
        };
        const auto result = run(recording.plan, recording.parameters, options);
        std::vector<LaunchRecord> records;
        if (standing) records.push_back(*standing);
        if (fails) records.push_back(capture.finish(result, true));
        ASSERT_FALSE(records.empty());
        ASSERT_NE(knows.copy, nullptr);
        for (const LaunchRecord& record : records) {
            for (const char* label : {"out", "target"}) {
                const auto range = std::ranges::find(record.memory, label, &RecordedMemory::label);
                ASSERT_TRUE(range != record.memory.end() && range->before) << label;
                EXPECT_EQ(range->before->data(), knows.copy->content(range->address, range->bytes).get());
            }
            const auto out = std::ranges::find(record.memory, "out", &RecordedMemory::label);
            std::int32_t first = 0;  // poison, not what the kernel has written
            std::memcpy(&first, out->before->data(), 4);
            EXPECT_LT(first, 0);
            EXPECT_FALSE(std::ranges::find(record.memory, "unreachable", &RecordedMemory::label)->before);
        }
    }
}

TEST_F(CoreFilesTest, CopiesAreUsedAgainButNotThoseOfARecord) {
    std::vector<LaunchRecord> records;
    for (const int number : {1, 2, 3}) {
        Recording recording(8, number == 2);  // the second one fails
        recording.device->device.copy_to_device(recording.memory.target, &number, 4);
        LaunchCapture capture = capture_of(recording, {.only_failures = true});
        execution::LaunchOptions options = recording.plan.options;
        options.observers.add(capture);
        options.write_output = [&](std::string_view) {
            records.push_back(capture.before_launch());
            return true;
        };
        (void)run(recording.plan, recording.parameters, options);
        if (number != 1) continue;
        // The same again, of which nobody has a record.
        LaunchCapture unnoticed = capture_of(recording, {.only_failures = true});
        options = recording.plan.options;
        options.observers.add(unnoticed);
        (void)run(recording.plan, recording.parameters, options);
    }
    ASSERT_EQ(records.size(), 3U);
    for (int number = 1; number <= 3; ++number) {
        const auto& memory = records[static_cast<std::size_t>(number) - 1].memory;
        const auto target = std::ranges::find(memory, "target", &RecordedMemory::label);
        ASSERT_TRUE(target != memory.end() && target->before);
        EXPECT_EQ(std::memcmp(target->before->data(), &number, 4), 0) << number;
    }
}

TEST_F(CoreFilesTest, TooMuchMemoryIsNotCopied) {
    Recording recording(8);
    EXPECT_NO_THROW((void)recording.record({.most_bytes = 4096}));
    try {
        (void)recording.record({.most_bytes = 64});
        FAIL() << "recorded";
    } catch (const RecordError& error) {
        EXPECT_NE(std::string(error.what()).find("more than 64 bytes"), std::string::npos) << error.what();
    }
}

TEST_F(CoreFilesTest, FilesHaveNamesOfTheirOwnAndAreTheUsersOnly) {
    Recording recording;
    LaunchRecord record = recording.record();
    record.display_name = "a<b>/c";
    record.host_frames = {{"run.py", "run", 7, 0}, {"/x/\xff.py", "<module>", 0, 0}};
    CoreFiles cores;
    EXPECT_FALSE(cores.wanted());
    cores.set(settings());
    EXPECT_TRUE(cores.wanted());
    const CoreFile first = cores.write(record), second = cores.write(record);
    const std::string stem = "core_a_b__c_" + std::to_string(getpid());
    EXPECT_EQ(first.path, folder / "cores" / (stem + ".cudasim")) << first.problem;
    EXPECT_EQ(second.path, folder / "cores" / (stem + ".2.cudasim")) << second.problem;
    EXPECT_EQ(files_left(), 2U);
    struct stat status{};
    ASSERT_EQ(stat(first.path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    const RecordReader reader(first.path);
    EXPECT_TRUE(reader.finished());
    EXPECT_EQ(reader.read(0).display_name, "a<b>/c");
    EXPECT_EQ(reader.read(0).host_frames, record.host_frames);
}

TEST_F(CoreFilesTest, AProcessLeavesNoMoreThanItMay) {
    Recording recording;
    const LaunchRecord record = recording.record();
    CoreFiles cores;
    cores.set(settings(2));
    EXPECT_FALSE(cores.write(record).full);
    EXPECT_FALSE(cores.write(record).full);
    const CoreFile third = cores.write(record);
    EXPECT_TRUE(third.full);
    EXPECT_TRUE(third.path.empty() && third.problem.empty());
    EXPECT_EQ(files_left(), 2U);
    cores.set(settings(0));
    EXPECT_FALSE(cores.wanted());
}

TEST_F(CoreFilesTest, WhatCannotBeWrittenIsSaidAndLeavesNothing) {
    Recording recording;
    const LaunchRecord record = recording.record();
    std::ofstream(folder / "file") << "no folder";
    CoreFiles cores;
    cores.set(core_settings((folder / "file" / "cores").string(), 10, 0, "test"));
    const CoreFile refused = cores.write(record);
    EXPECT_TRUE(refused.path.empty());
    EXPECT_NE(refused.problem.find("Not a directory"), std::string::npos) << refused.problem;
}

TEST_F(CoreFilesTest, CudasOwnVariablesAskForFilesToo) {
    EXPECT_TRUE(core_settings("", 10, 0, "test").folder.empty());
    setenv("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "0", 1);
    EXPECT_TRUE(core_settings("", 10, 0, "test").folder.empty());
    setenv("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1", 1);
    EXPECT_EQ(core_settings("", 10, 0, "test").folder, fs::current_path() / ".");
    setenv("CUDA_COREDUMP_FILE", (folder / "of_%p_100%%.nvcudmp").c_str(), 1);
    Recording recording;
    const LaunchRecord record = recording.record();
    CoreFiles cores;
    cores.set(core_settings("", 10, 0, "test"));
    EXPECT_EQ(cores.write(record).path,
              folder / ("of_" + std::to_string(getpid()) + "_100%.nvcudmp.cudasim"));
    setenv("CUDA_COREDUMP_FILE", (folder / "named.cudasim").c_str(), 1);
    cores.set(core_settings("", 10, 0, "test"));
    EXPECT_EQ(cores.write(record).path, folder / "named.cudasim");
    // The option is stronger.
    EXPECT_EQ(core_settings(folder.string(), 10, 0, "test").folder, folder);
}

TEST_F(CoreFilesTest, OneCoreReplacesAFile) {
    Recording recording;
    const fs::path path = folder / "one.cudasim";
    std::ofstream(path) << "old";
    write_core(path, recording.record());
    EXPECT_EQ(RecordReader(path).launches(), 1U);
    EXPECT_THROW(write_core(folder / "nowhere" / "one.cudasim", recording.record()), RecordError);
}

}  // namespace
}  // namespace cudasim::driver
