#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/gpu_backend/comparison/contents.h"

namespace cudasim::comparison {
namespace {

TEST(Memory, runs_of_differing_bytes_are_told_with_their_contents) {
    Bytes simulated(10000), gpu(10000);
    for (const std::size_t at : {5u, 6u, 4095u, 4096u, 9999u}) gpu[at] = std::byte{0xAB};
    const BytesComparison result = compare_bytes("gap", 0x100, simulated, gpu);
    EXPECT_EQ(result.verdict(), Verdict::different);
    EXPECT_EQ(result.differing, 5u);
    EXPECT_EQ(result.runs, 3u);
    ASSERT_EQ(result.first.size(), 3u);
    EXPECT_EQ(result.first[0].address, 0x105u);
    EXPECT_EQ(result.first[0].bytes, 2u);
    EXPECT_EQ(result.first[0].gpu, Bytes(2, std::byte{0xAB}));
    EXPECT_EQ(result.first[1].address, 0x100u + 4095);
    EXPECT_EQ(result.first[1].bytes, 2u);
    EXPECT_EQ(result.first[2].address, 0x100u + 9999);
    EXPECT_EQ(compare_bytes("gap", 0x100, gpu, gpu).verdict(), Verdict::same);
}

TEST(Memory, long_and_many_runs_are_counted_and_cut) {
    const Bytes simulated(1000), gpu(1000, std::byte{1});
    const BytesComparison one = compare_bytes("gap", 0, simulated, gpu);
    EXPECT_EQ(one.first[0].bytes, 1000u);
    EXPECT_EQ(one.first[0].gpu.size(), 16u);
    Bytes every_second(1000);
    for (std::size_t i = 0; i < 1000; i += 2) every_second[i] = std::byte{1};
    const BytesComparison many = compare_bytes("gap", 0, simulated, every_second, {.runs = 3});
    EXPECT_EQ(many.runs, 500u);
    ASSERT_EQ(many.first.size(), 3u);
    EXPECT_EQ(many.first[2].bytes, 1u);
}

TEST(Memory, bytes_of_elements_are_left_out) {
    const Bytes simulated(64);
    const Bytes gpu(64, std::byte{1});
    ArrayView columns = array("int32", {2, 2});  // of an array with 4 columns: bytes 8 to 15 and 24 to 31
    columns.offset = 8;
    columns.strides = {16, 4};
    ArrayView tail = array("uint8", {10});
    tail.offset = 54;
    const std::vector<ArrayView> views = {columns, tail};
    const BytesComparison result = compare_outside("x", 0x1000, views, simulated, gpu);
    EXPECT_EQ(result.differing, 64u - 16 - 10);
    ASSERT_EQ(result.first.size(), 3u);
    EXPECT_EQ(result.first[0].bytes, 8u);
    EXPECT_EQ(result.first[1].address, 0x1010u);
    EXPECT_EQ(result.first[1].bytes, 8u);
    EXPECT_EQ(result.first[2].address, 0x1020u);
    EXPECT_EQ(result.first[2].bytes, 22u);
}

TEST(Memory, a_reversed_array_covers_what_it_walks) {
    const Bytes simulated(12), gpu(12, std::byte{1});
    ArrayView reversed = array("int32", {2});
    reversed.offset = 8;
    reversed.strides = {-4};
    const std::vector<ArrayView> views = {reversed};
    EXPECT_EQ(compare_outside("x", 0, views, simulated, gpu).differing, 4u);
}

TEST(Memory, contents_of_different_sizes_are_refused) {
    EXPECT_THROW((void)compare_bytes("gap", 0, Bytes(3), Bytes(4)), std::invalid_argument);
}

TEST(PrintedLines, are_compared_without_their_order) {
    EXPECT_EQ(compare_printed("a\nb\n", "a\nb\n").verdict(), Verdict::same);
    EXPECT_FALSE(compare_printed("a\nb\n", "a\nb\n").other_order);
    const PrintedComparison other = compare_printed("a\nb\n", "b\na\n");
    EXPECT_EQ(other.verdict(), Verdict::same);
    EXPECT_TRUE(other.other_order);
}

TEST(PrintedLines, are_counted_as_often_as_they_are_printed) {
    const PrintedComparison result = compare_printed("a\na\nb\nc", "a\nb\nb\nd\n", {.runs = 1});
    EXPECT_EQ(result.verdict(), Verdict::different);
    EXPECT_EQ(result.only_simulated_count, 2u);
    EXPECT_EQ(result.only_simulated, std::vector<std::string>{"a"});
    EXPECT_EQ(result.only_gpu_count, 2u);
    EXPECT_EQ(result.only_gpu, std::vector<std::string>{"b"});
}

TEST(Launches, are_as_bad_as_their_worst_part) {
    Comparison comparison;
    EXPECT_EQ(comparison.verdict(), Verdict::same);
    comparison.arrays.push_back({.differing = 3});
    EXPECT_EQ(comparison.verdict(), Verdict::close);
    comparison.printed = compare_printed("a", "b");
    EXPECT_EQ(comparison.verdict(), Verdict::different);
    comparison.printed.reset();
    comparison.outside.push_back({.differing = 1});
    EXPECT_EQ(comparison.verdict(), Verdict::different);
}

}  // namespace
}  // namespace cudasim::comparison
