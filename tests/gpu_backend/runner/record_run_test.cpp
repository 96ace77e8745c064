// Whole files of records on the stand-in driver.
#include "gpu_backend/runner/record_run.h"

#include <unistd.h>

#include <algorithm>

#include "simulator/records/blocks.h"
#include "tests/gpu_backend/runner/test_launch.h"

namespace cudasim::runner {
namespace {

using records::BlockReader;
using records::BlockWriter;
using records::GpuResult;
using records::GpuStatus;

void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

class RecordRun : public ::testing::Test {
  protected:
    RecordRun() { std::filesystem::create_directory(folder_); }
    ~RecordRun() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    void write(std::vector<TestLaunch> launches) const {
        BlockWriter writer(input_, records::launch_format, nullptr);
        for (auto& each : launches) {
            for (std::size_t i = 0; i < each.memory.size(); ++i)
                each.launch.memory[i].before = writer.chunks(each.memory[i]);
            each.launch.code = writer.chunks(records::to_bytes(each.code));
            writer.add('G', records::to_bytes(each.launch));
        }
        writer.close();
    }
    /// @return how many did not run to their end
    std::uint64_t run(const RecordRunOptions& options = {}) {
        reported_.clear();
        return run_file(input_, output_, gpu_, options,
                        [this](const GpuResult& each) { reported_.push_back(each); });
    }
    [[nodiscard]] std::string refusal(const RecordRunOptions& options = {}) {
        try {
            (void)run(options);
        } catch (const records::RecordError& error) {
            return error.what();
        }
        return "it ran";
    }
    [[nodiscard]] static std::vector<GpuResult> results_in(const BlockReader& reader) {
        EXPECT_TRUE(reader.finished());
        std::vector<GpuResult> results;
        for (std::size_t i = 0; i < reader.count('R'); ++i)
            results.push_back(records::result_from(reader.read('R', i).bytes()));
        return results;
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("record_run_test." + std::to_string(getpid()));
    std::filesystem::path input_ = folder_ / "run.cudasim", output_ = folder_ / "gpu.cudasim";
    RunnerProcess gpu_{with_stand_in()};
    std::vector<GpuResult> reported_;
};

TestLaunch numbered(std::uint64_t number, TestLaunch test = adding_one()) {
    test.launch.number = number;
    return test;
}

TEST_F(RecordRun, keeps_the_chunks_that_a_launch_changed) {
    auto test = adding_one();
    test.range(0x3000'0000'0000, Bytes(5 * records::chunk_bytes), "large");
    // Writes into the second, the third and the last chunk.
    test.code.ptx.insert(test.code.ptx.find("    ret;"),
                         "mov.u64 %rd3, 0x30000001FFFC; st.global.u32 [%rd3], 9; st.global.u32 [%rd3+4], 9; "
                         "st.global.u32 [%rd3+196608], 9;\n");
    write({test});
    EXPECT_EQ(run(), 0U);
    const BlockReader reader(output_, records::result_format);
    const auto results = results_in(reader);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(name_of(results[0].status), "ran");
    EXPECT_EQ(results[0].number, 3U);
    ASSERT_EQ(results[0].changes.size(), 2U);
    ASSERT_EQ(results[0].changes[0].size(), 1U);
    EXPECT_EQ(results[0].changes[0][0].offset, 0U);
    const auto words = reader.content(results[0].changes[0][0].content);
    ASSERT_EQ(words.size(), 256U);
    EXPECT_EQ(words.bytes()[0], std::byte{1});
    const auto& large = results[0].changes[1];
    ASSERT_EQ(large.size(), 2U);
    EXPECT_EQ(large[0].offset, records::chunk_bytes);
    EXPECT_EQ(large[0].content.bytes, 2 * records::chunk_bytes);
    EXPECT_EQ(large[1].offset, 4 * records::chunk_bytes);
    EXPECT_EQ(large[1].content.bytes, records::chunk_bytes);
    EXPECT_EQ(reader.content(large[0].content).bytes()[records::chunk_bytes], std::byte{9});
}

TEST_F(RecordRun, goes_on_after_launches_that_fail) {
    auto wrong = numbered(2, kernel_that("st.global.u32 [%rd1], 1;", 16));
    auto refused = numbered(3);
    refused.code.refusal = "it calls a function of the host";
    write({numbered(1), wrong, refused, numbered(4)});
    EXPECT_EQ(run(), 2U);
    ASSERT_EQ(reported_.size(), 4U);
    const BlockReader reader(output_, records::result_format);
    const auto results = results_in(reader);
    ASSERT_EQ(results.size(), 4U);
    const std::vector<std::string_view> expected{"ran", "faulted", "refused", "ran"};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(name_of(results[i].status), expected[i]);
        EXPECT_EQ(results[i].number, i + 1);
        EXPECT_EQ(results[i].kernel, "test");
        EXPECT_EQ(reported_[i].number, i + 1);
    }
    EXPECT_TRUE(results[1].changes.empty());
    EXPECT_EQ(results[3].changes[0].size(), 1U);
}

TEST_F(RecordRun, leaves_launches_out_in_which_the_simulator_found_an_error) {
    auto wrong = numbered(1);
    wrong.launch.simulated_error = "a race";
    write({wrong, numbered(2)});
    EXPECT_EQ(run(), 1U);
    EXPECT_EQ(name_of(reported_[0].status), "refused");
    expect_in("the simulator found an error in it: a race", reported_[0].message);
    EXPECT_EQ(run({.with_faulting = true}), 0U);
    EXPECT_EQ(name_of(reported_[0].status), "ran");
}

TEST_F(RecordRun, takes_the_launches_that_are_asked_for) {
    write({numbered(2), numbered(4), numbered(5)});
    const auto numbers = [&](std::uint64_t first, std::uint64_t last) {
        (void)run({.first = first, .last = last});
        std::vector<std::uint64_t> result;
        for (const auto& each : reported_) result.push_back(each.number);
        return result;
    };
    EXPECT_EQ(numbers(1, 4), (std::vector<std::uint64_t>{2, 4}));
    EXPECT_EQ(numbers(5, 5), (std::vector<std::uint64_t>{5}));
    expect_in("none of the launches 2..5 of the file was asked for", refusal({.first = 3, .last = 3}));
}

TEST_F(RecordRun, refuses_files_that_are_none_for_a_gpu) {
    BlockWriter(input_, records::launch_format, nullptr).close();
    expect_in("has no launches for a GPU: make it with `cudasim record --gpu`", refusal());
    EXPECT_FALSE(std::filesystem::exists(output_));
    BlockWriter(input_, records::result_format, nullptr).close();
    expect_in("this is a file of a GPU's results, not a file of records", refusal());
    std::filesystem::remove(input_);
    expect_in("cannot read " + input_.string(), refusal());
    // Another one that was made in the meantime stays.
    write({numbered(1)});
    EXPECT_EQ(run(), 0U);
    std::filesystem::resize_file(input_, 30);
    expect_in("has no launches", refusal());
    EXPECT_EQ(results_in(BlockReader(output_, records::result_format)).size(), 1U);
}

TEST_F(RecordRun, refuses_to_replace_its_input) {
    write({numbered(1)});
    const auto before = records::bytes_of(input_);
    for (const auto how : {0, 1, 2}) {
        std::filesystem::remove(output_);
        if (how == 0)
            output_ = folder_ / "." / "run.cudasim";
        else if (how == 1)
            std::filesystem::create_symlink(input_, output_ = folder_ / "link");
        else
            std::filesystem::create_hard_link(input_, output_ = folder_ / "hard");
        expect_in("the results would replace", refusal());
        EXPECT_EQ(records::bytes_of(input_), before);
        output_ = folder_ / "gpu.cudasim";
    }
}

TEST_F(RecordRun, names_an_output_that_cannot_be_written) {
    write({numbered(1)});
    output_ = "/nowhere/gpu.cudasim";
    expect_in("cannot write /nowhere/gpu.cudasim: No such file or directory", refusal());
    output_ = folder_;
    expect_in("cannot write " + folder_.string(), refusal());
}

TEST_F(RecordRun, refuses_launches_without_their_memory_or_with_another_code) {
    auto test = adding_one();
    {
        BlockWriter writer(input_, records::launch_format, nullptr);
        test.launch.code = writer.chunks(records::to_bytes(test.code));
        writer.add('G', records::to_bytes(test.launch));
        writer.close();
    }
    expect_in("a launch's memory is not in the file", refusal());
    test.code.parameters[0].size = 16;
    write({test});
    expect_in("lies outside of the parameters' bytes", refusal());
    {
        BlockWriter writer(input_, records::launch_format, nullptr);
        test.launch.code = writer.chunks(Bytes(100));
        test.launch.memory.clear();
        writer.add('G', records::to_bytes(test.launch));
        writer.close();
    }
    expect_in("is malformed", refusal());
}

TEST_F(RecordRun, without_a_gpu_makes_no_file) {
    write({numbered(1)});
    const Planted planted("devices=0");
    EXPECT_THROW((void)run(), NoRunner);
    EXPECT_FALSE(std::filesystem::exists(output_));
}

}  // namespace
}  // namespace cudasim::runner
