// vprintf in hand-written NVVM IR: order of threads and blocks, faults, stopping, bounded memory (V6).
#include <algorithm>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

class Printing : public IrKernelTest {
  protected:
    LaunchResult print(const image::KernelImage& image, Dim3 grid, Dim3 block, std::uint64_t argument = 0) {
        image_ = device().load(image);
        LaunchOptions wanted = options();
        wanted.write_output = [this](std::string_view text) {
            writes_.emplace_back(text);
            return writes_.size() < most_writes_;
        };
        const std::uint64_t parameters[] = {argument, 0};
        return device().launch(*image_, "k", {grid, block, 0}, std::as_bytes(std::span(parameters)), wanted);
    }
    [[nodiscard]] std::string text() const {
        std::string all;
        for (const std::string& each : writes_) all += each;
        return all;
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> result;
        const std::string all = text();
        for (std::size_t begin = 0; begin < all.size();) {
            const std::size_t end = std::min(all.find('\n', begin), all.size() - 1) + 1;
            result.push_back(all.substr(begin, end - begin));
            begin = end;
        }
        return result;
    }

    std::vector<std::string> writes_;
    std::size_t most_writes_ = std::size_t{1} << 40;
};
INSTANTIATE_TEST_SUITE_P(Modes, Printing, all_modes, mode_name);

constexpr const char* two_prints = R"(
@format = internal addrspace(4) constant [11 x i8] c"%d %lld %s\00"
@newline = internal addrspace(4) constant [2 x i8] c"\0A\00"
@word = internal addrspace(4) constant [5 x i8] c"word\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %out) {
  %arguments = alloca { i32, i64, ptr }
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %wide = sext i32 %t to i64
  %p0 = getelementptr { i32, i64, ptr }, ptr %arguments, i32 0, i32 0
  %p1 = getelementptr { i32, i64, ptr }, ptr %arguments, i32 0, i32 1
  %p2 = getelementptr { i32, i64, ptr }, ptr %arguments, i32 0, i32 2
  store i32 %c, ptr %p0
  store i64 %wide, ptr %p1
  store ptr addrspacecast (ptr addrspace(4) @word to ptr), ptr %p2
  %f = addrspacecast ptr addrspace(4) @format to ptr
  %n = addrspacecast ptr addrspace(4) @newline to ptr
  %r = call i32 @vprintf(ptr %f, ptr %arguments)
  %s = call i32 @vprintf(ptr %n, ptr null)
  %total = add i32 %r, %s
  %i = mul i32 %c, 40
  %j = add i32 %i, %t
  %q = getelementptr i32, ptr %out, i32 %j
  store i32 %total, ptr %q
  ret void
})";

TEST_P(Printing, lines_come_whole_in_the_order_in_which_blocks_and_threads_start) {
    DeviceArray<int> results(200 * 40, -1);
    EXPECT_EQ(messages(print(ir_image(two_prints), {200}, {40}, results.pointer())), "");
    std::vector<std::string> expected;
    for (int block = 0; block < 200; ++block) {
        for (int thread = 0; thread < 40; ++thread)
            expected.push_back(std::to_string(block) + " " + std::to_string(thread) + " word\n");
    }
    if (GetParam().policy == Policy::reverse) std::ranges::reverse(expected);
    auto printed = lines();
    if (GetParam().policy == Policy::random) {  // in an order of its own, but every line once and whole
        std::ranges::sort(printed);
        std::ranges::sort(expected);
    }
    EXPECT_EQ(printed, expected);
    for (int result : results.read()) EXPECT_EQ(result, 3);
}

TEST_P(Printing, what_was_printed_before_a_fault_appears) {
    auto image = ir_image(R"(
@format = internal addrspace(4) constant [8 x i8] c"here%d\0A\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %out) {
  %arguments = alloca i32
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr %arguments
  %r = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @format to ptr), ptr %arguments)
  call void @llvm.trap()
  unreachable
})");
    EXPECT_NE(print(image, {1}, {3}).error(), nullptr);
    auto printed = lines();
    std::ranges::sort(printed);
    EXPECT_EQ(printed, (std::vector<std::string>{"here0\n", "here1\n", "here2\n"}));
}

TEST_P(Printing, memory_that_is_not_the_kernels_is_a_fault) {
    auto image = ir_image(R"(
@format = internal addrspace(4) constant [7 x i8] c"%d %s\0A\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %wild) {
  %arguments = alloca { i32, ptr }
  %p = getelementptr { i32, ptr }, ptr %arguments, i32 0, i32 1
  store i32 5, ptr %arguments
  store ptr %wild, ptr %p
  %r = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @format to ptr), ptr %arguments)
  ret void
})");
    const std::string host = "a host string";
    const auto address = reinterpret_cast<std::uint64_t>(host.c_str());
    for (std::uint64_t wild : {std::uint64_t{16}, address, ~std::uint64_t{0} - 3}) {
        const LaunchResult result = print(image, {1}, {1}, wild);
        ASSERT_EQ(result.findings.size(), 1U);
        EXPECT_EQ(result.findings[0].severity, findings::Severity::error);
    }
    EXPECT_EQ(text(), "5 5 5 ");
}

constexpr const char* endless = R"(
@format = internal addrspace(4) constant [66 x i8] c"0123456789012345678901234567890123456789012345678901234567890123\0A\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %count) {
  %n = ptrtoint ptr %count to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %r = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @format to ptr), ptr null)
  %next = add i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
})";

TEST_P(Printing, a_sink_that_refuses_ends_the_launch) {
    most_writes_ = 3;
    const LaunchResult result = print(ir_image(endless), {2}, {2}, 0);
    EXPECT_GE(writes_.size(), 3U);
    EXPECT_LE(writes_.size(), 5U);  // and what was left
    ASSERT_FALSE(result.findings.empty());
    EXPECT_EQ(result.findings[0].kind, findings::FindingKind::interrupted);
}

TEST_P(Printing, much_output_is_passed_on_in_pieces_and_nothing_is_lost) {
    EXPECT_EQ(messages(print(ir_image(endless), {4}, {8}, 10'000)), "");
    std::size_t longest = 0, total = 0;
    for (const std::string& each : writes_) {
        longest = std::max(longest, each.size());
        total += each.size();
        EXPECT_EQ(each.back(), '\n');
    }
    EXPECT_EQ(total, 4U * 8 * 10'000 * 65);
    EXPECT_LT(longest, std::size_t{16} << 20);
}

}  // namespace
}  // namespace cudasim::execution
