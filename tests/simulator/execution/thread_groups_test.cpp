// Groups of threads (simulator/jit/thread_groups.h): which kernels have them, that each thread computes the
// same bits as by itself, and that faults, time limits and spins name the right threads.
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "simulator/execution/runner.h"
#include "tests/simulator/execution/group_kernels.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

bool has_groups(const image::KernelImage& image, const LaunchOptions& options) {
    return has_groups(*device().load(image), options);
}

template <typename... Arguments>
LaunchResult launch(const image::KernelImage& image, Dim3 grid, Dim3 block, const LaunchOptions& options,
                    Arguments... arguments) {
    return launch(*device().load(image), grid, block, options, arguments...);
}

/// Index of the thread in the grid, and x, y of it; `code` stands in a kernel of (p, q, n).
std::string kernel(const std::string& code) {
    return R"(
define void @k(ptr %p, ptr %q, i64 %n) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %w = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %c, %w
  %i32 = add i32 %first, %x
  %i = zext i32 %i32 to i64
  %x64 = zext i32 %x to i64
  %y64 = zext i32 %y to i64
  %pi = getelementptr double, ptr %p, i64 %i
  %qi = getelementptr double, ptr %q, i64 %i
)" + code + "\n}\n";
}

/// The sum of a column of n rows of 64 elements.
const char* const column_sum = R"(
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
  %s = phi double [0.0, %entry], [%s1, %loop]
  %row = mul i64 %k, 64
  %at = add i64 %row, %i
  %e = getelementptr double, ptr %p, i64 %at
  %v = load double, ptr %e, align 8
  %s1 = fadd double %s, %v
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %n
  br i1 %more, label %loop, label %done
done:
  store double %s1, ptr %qi, align 8
  ret void)";

class ThreadGroups : public ::testing::Test {
  protected:
    /// Both arrays after the kernel has run, from the same random numbers.
    std::vector<double> results(const image::KernelImage& image, Dim3 grid, Dim3 block, Carrier carrier,
                                std::uint64_t n, std::size_t size = 4096) {
        DeviceArray<double> p(size), q(size);
        std::mt19937_64 random(5);
        std::vector<double> numbers(2 * size);
        for (double& number : numbers) number = static_cast<double>(random() % 2000) / 16 - 60;
        device().copy_to_device(p.pointer(), numbers.data(), size * 8);
        device().copy_to_device(q.pointer(), numbers.data() + size, size * 8);
        const LaunchResult result =
            launch(image, grid, block, unchecked(carrier), p.pointer(), q.pointer(), n);
        EXPECT_TRUE(result.findings.empty()) << messages(result);
        std::vector<double> all = p.read();
        all.insert(all.end(), q.read().begin(), q.read().end());
        return all;
    }

    void expect_same_as_alone(const std::string& code, Dim3 grid, Dim3 block, std::uint64_t n) {
        const auto image = ir_image(kernel(code));
        EXPECT_TRUE(has_groups(image, unchecked(Carrier::automatic))) << code;
        const auto alone = results(image, grid, block, Carrier::fiber, n);
        const auto grouped = results(image, grid, block, Carrier::automatic, n);
        EXPECT_EQ(std::memcmp(alone.data(), grouped.data(), alone.size() * 8), 0) << code;
    }

    void expect_refused(const std::string& code) {
        EXPECT_FALSE(has_groups(ir_image(kernel(code)), unchecked(Carrier::automatic))) << code;
    }
};

TEST_F(ThreadGroups, compute_what_threads_compute_alone) {
    for (const unsigned width : {1U, 7U, 8U, 9U, 16U, 23U, 64U})
        expect_same_as_alone(column_sum, {1}, {width}, 50);
}

/// The sum over k of p[(offset + x) * n + k] * q[k], or of p[(offset + x) * n + k] * p[x * n + k].
std::string row_sum(const std::string& other) {
    return R"(
  %shifted = add i64 %i, 7
  %row = mul i64 %shifted, %n
  %own = mul i64 %i, %n
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
  %s = phi double [0.0, %entry], [%s1, %loop]
  %at = add i64 %row, %k
  %e = getelementptr double, ptr %p, i64 %at
  %v = load double, ptr %e, align 8
  %at2 = add i64 %own, %k
)" + other +
           R"(
  %u = load double, ptr %f, align 8
  %m = fmul double %v, %u
  %s1 = fadd double %s, %m
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %n
  br i1 %more, label %loop, label %done
done:
  %qj = getelementptr double, ptr %qi, i64 100
  store double %s1, ptr %qj, align 8
  ret void)";
}

TEST_F(ThreadGroups, read_one_row_each_where_they_have_another_in_common) {
    const std::string common = "%f = getelementptr double, ptr %q, i64 %k";
    for (const std::uint64_t length : {1, 50}) expect_same_as_alone(row_sum(common), {1}, {37}, length);
    expect_refused(row_sum("%f = getelementptr double, ptr %p, i64 %at2"));
    // Where memory says where to read.
    expect_refused(R"(
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
  %s = phi double [0.0, %entry], [%s1, %loop]
  %e = getelementptr double, ptr %qi, i64 %k
  %at = load i64, ptr %e, align 8
  %f = getelementptr double, ptr %p, i64 %at
  %u = load double, ptr %f, align 8
  %g = getelementptr double, ptr %q, i64 %k
  %v = load double, ptr %g, align 8
  %m = fmul double %v, %u
  %s1 = fadd double %s, %m
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %n
  br i1 %more, label %loop, label %done
done:
  store double %s1, ptr %qi, align 8
  ret void)");
}

TEST_F(ThreadGroups, rows_of_a_block_are_cut_where_they_end) {
    const std::string code = R"(
  %r = mul i64 %y64, 16
  %a = add i64 %r, %x64
  %e = getelementptr double, ptr %p, i64 %a
  %v = load double, ptr %e, align 8
  %f = getelementptr double, ptr %q, i64 %a
  %yf = uitofp i64 %y64 to double
  %z = fmul double %v, %yf
  store double %z, ptr %f, align 8
  ret void)";
    for (const Dim3 block : {Dim3{16, 4, 1}, Dim3{12, 3, 2}, Dim3{3, 16, 1}, Dim3{8, 8, 1}, Dim3{9, 5, 3}})
        expect_same_as_alone(code, {2}, block, 0);
}

TEST_F(ThreadGroups, lanes_that_go_different_ways_run_alone) {
    const std::string code = R"(
  %in = icmp slt i64 %i, %n
  br i1 %in, label %do, label %end
do:
  %v = load double, ptr %pi, align 8
  %big = fcmp ogt double %v, 0.0
  br i1 %big, label %twice, label %end
twice:
  %d = fadd double %v, %v
  store double %d, ptr %qi, align 8
  ret void
end:
  ret void)";
    for (const std::uint64_t n : {0, 1, 8, 13, 64, 500}) expect_same_as_alone(code, {4}, {64}, n);
}

/// Numbers of 32 bits that pass 0 or the largest one in the middle of a group, as numbers of 64 bits.
TEST_F(ThreadGroups, numbers_that_wrap_are_no_neighbours) {
    for (const char* number : {"sub i32 %x, 3", "add i32 %x, 2147483643", "mul i32 %x, 1073741824"}) {
        for (const char* extension : {"zext", "sext"}) {
            const std::string code = "%narrow = " + std::string(number) + "\n%wide = " + extension +
                                     " i32 %narrow to i64\n%m = mul i64 %wide, %n\n";
            expect_same_as_alone(code + "store i64 %m, ptr %qi, align 8\nret void", {1}, {32}, 77);
            // Where the group cannot go back, because it has stored.
            expect_same_as_alone(R"(
  %v = load double, ptr %pi, align 8
  %v1 = fadd double %v, 1.0
  store double %v1, ptr %pi, align 8
)" + code + "store i64 %m, ptr %qi, align 8\nret void",
                                 {1}, {32}, 77);
        }
    }
}

TEST_F(ThreadGroups, addresses_that_memory_decides_are_read_lane_by_lane) {
    const std::string code = R"(
  %v = load double, ptr %pi, align 8
  %m = call double @llvm.fabs.f64(double %v)
  %t = fptoui double %m to i64
  %e = getelementptr double, ptr %p, i64 %t
  %u = load double, ptr %e, align 8
  %s = call double @llvm.sqrt.f64(double %m)
  %z = fdiv double %u, %s
  store double %z, ptr %qi, align 8
  ret void)";
    const auto with = [](const std::string& body) {
        return kernel(body) +
               "declare double @llvm.fabs.f64(double)\ndeclare double @llvm.sqrt.f64(double)\n";
    };
    const auto image = ir_image(with(code));
    EXPECT_TRUE(has_groups(image, unchecked(Carrier::automatic)));
    const auto alone = results(image, {3}, {37}, Carrier::fiber, 0);
    const auto grouped = results(image, {3}, {37}, Carrier::automatic, 0);
    EXPECT_EQ(std::memcmp(alone.data(), grouped.data(), alone.size() * 8), 0);
}

TEST_F(ThreadGroups, are_not_made_where_lanes_could_not_go_back_or_differ_in_loops) {
    expect_refused(R"(
  store double 1.0, ptr %qi, align 8
  %v = load double, ptr %pi, align 8
  %big = fcmp ogt double %v, 0.0
  br i1 %big, label %more, label %end
more:
  store double 2.0, ptr %pi, align 8
  ret void
end:
  ret void)");
    expect_refused(R"(
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
  %s = phi double [0.0, %entry], [%s1, %loop]
  %v = load double, ptr %pi, align 8
  %s1 = fadd double %s, %v
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %i
  br i1 %more, label %loop, label %done
done:
  store double %s1, ptr %qi, align 8
  ret void)");
    expect_refused(R"(
  store double 1.0, ptr %qi, align 8
  %in = icmp ult i64 %x64, 3
  br i1 %in, label %more, label %end
more:
  store double 2.0, ptr %pi, align 8
  ret void
end:
  ret void)");
    // All lanes to one place.
    expect_refused(R"(
  %v = load double, ptr %pi, align 8
  store double %v, ptr %qi, align 8
  store double %v, ptr %q, align 8
  ret void)");
    expect_refused(R"(
  %v = load volatile double, ptr %pi, align 8
  store double %v, ptr %qi, align 8
  ret void)");
    expect_refused(R"(
  %old = atomicrmw add ptr %q, i64 1 seq_cst
  store double 1.0, ptr %pi, align 8
  ret void)");
    expect_refused(R"(
  call void @llvm.nvvm.barrier0()
  store double 1.0, ptr %qi, align 8
  ret void)");
    expect_refused(R"(
  call void @llvm.nvvm.membar.gl()
  store double 1.0, ptr %qi, align 8
  ret void)");
    expect_refused(R"(
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  store double 1.0, ptr %qi, align 8
  ret void)");
    // An array of its own.
    expect_refused(R"(
  %own = alloca [4 x double], align 8
  %v = load double, ptr %pi, align 8
  %at = and i64 %i, 3
  %slot = getelementptr [4 x double], ptr %own, i64 0, i64 %at
  store double %v, ptr %slot, align 8
  %other = and i64 %x64, %n
  %from = getelementptr [4 x double], ptr %own, i64 0, i64 %other
  %u = load double, ptr %from, align 8
  store double %u, ptr %qi, align 8
  ret void)");
    // What ends a thread, behind a store.
    expect_refused(R"(
  store double 1.0, ptr %qi, align 8
  %bad = icmp eq i64 %n, 5
  br i1 %bad, label %trap, label %end
trap:
  call void @llvm.trap()
  unreachable
end:
  ret void)");
    expect_refused(R"(
  store double 1.0, ptr %qi, align 8
  %t = sdiv i64 7, %n
  %f = sitofp i64 %t to double
  store double %f, ptr %pi, align 8
  ret void)");
    // Sums in another order, or other operations, may be made of it.
    expect_refused(R"(
  %v = load double, ptr %pi, align 8
  %s = fadd fast double %v, 3.0
  store double %s, ptr %qi, align 8
  ret void)");
    // Behind a store: where it could fault depends on what has been stored.
    expect_refused(R"(
  store double 1.0, ptr %qi, align 8
  %t = load i64, ptr %pi, align 8
  %e = getelementptr double, ptr %p, i64 %t
  store double 2.0, ptr %e, align 8
  ret void)");
}

TEST_F(ThreadGroups, are_not_made_of_kernels_that_read_clocks) {
    const std::string code = kernel(R"(
  %t = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  %v = uitofp i64 %t to double
  store double %v, ptr %qi, align 8
  ret void)");
    EXPECT_FALSE(has_groups(ir_image(code + "declare i64 @llvm.nvvm.read.ptx.sreg.clock64()\n"),
                            unchecked(Carrier::automatic)));
}

TEST_F(ThreadGroups, are_not_made_under_checks) {
    LaunchOptions options;
    EXPECT_FALSE(has_groups(ir_image(kernel(column_sum)), options));
}

TEST_F(ThreadGroups, faults_name_the_thread_that_is_to_blame) {
    // Thread 13 of block 1 stores where nothing is; what is behind it faults, too, if it runs.
    const std::string code = R"(
  store double 7.0, ptr %qi, align 8
  %bad = icmp eq i64 %i, 45
  %address = ptrtoint ptr %pi to i64
  %wild = select i1 %bad, i64 4096, i64 %address
  %e = inttoptr i64 %wild to ptr
  store double 1.0, ptr %e, align 8
  ret void)";
    const auto image = ir_image(kernel(code));
    ASSERT_TRUE(has_groups(image, unchecked(Carrier::automatic)));
    DeviceArray<double> p(96), q(96);
    const auto result = launch(image, {3}, {32}, unchecked(Carrier::automatic), p.pointer(), q.pointer(), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[13, 0, 0] ctaid=[1, 0, 0]");
    EXPECT_EQ(result.error()->count, 1U);
    EXPECT_EQ(result.blocks_run, 3U);
    EXPECT_EQ(q.read(), std::vector<double>(96, 7.0));
    std::vector<double> ones(96, 1.0);
    ones[45] = 0;
    EXPECT_EQ(p.read(), ones);
}

/// The sixth thread's element of q is not there. If the others had stored theirs, they would be led elsewhere
/// when they run again.
TEST_F(ThreadGroups, faults_come_before_anything_is_stored_that_is_read) {
    const auto image = ir_image(kernel(R"(
  %from = load i64, ptr %pi, align 8
  %own = getelementptr i64, ptr %q, i64 %from
  %at = load i64, ptr %own, align 8
  %e = getelementptr i64, ptr %p, i64 %at
  %v = load i64, ptr %e, align 8
  store i64 %v, ptr %qi, align 8
  ret void)"));
    ASSERT_TRUE(has_groups(image, unchecked(Carrier::automatic)));
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    auto* end = reinterpret_cast<std::int64_t*>(static_cast<std::byte*>(pages) + page);
    ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
    std::int64_t* q = end - 5;
    std::fill(q - 3, end, 10);
    DeviceArray<std::int64_t> p(16);
    const std::vector<std::int64_t> numbers{0, 1, 2, 3, 4, -3, -2, -1, 0, 0, 11, 12};
    device().copy_to_device(p.pointer(), numbers.data(), numbers.size() * 8);
    const auto result = launch(image, {1}, {8}, unchecked(Carrier::automatic), p.pointer(),
                               reinterpret_cast<std::uint64_t>(q), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[5, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_EQ(result.error()->count, 3U);
    EXPECT_EQ(std::vector<std::int64_t>(q, end), std::vector<std::int64_t>(5, 11));
    munmap(pages, 2 * page);
}

TEST_F(ThreadGroups, faults_of_a_whole_group_count_each_thread) {
    const std::string code = R"(
  %v = load double, ptr %qi, align 8
  store double %v, ptr %pi, align 8
  ret void)";
    DeviceArray<double> p(64);
    const auto result =
        launch(ir_image(kernel(code)), {1}, {20}, unchecked(Carrier::automatic), p.pointer(), 4096, 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[0, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_EQ(result.error()->count, 20U);
}

/// All threads wait for the first element of q; block 0's threads are to be reported, or block 1 ends it.
const char* const spin = R"(
  %is_last = icmp eq i32 %c, 1
  br i1 %is_last, label %set, label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
  %v = load double, ptr %q, align 8
  %k1 = add i64 %k, 1
  %more = fcmp oeq double %v, 0.0
  br i1 %more, label %loop, label %done
done:
  %z = fadd double %v, 1.0
  store double %z, ptr %pi, align 8
  ret void
set:
  store double 5.0, ptr %qs, align 8
  ret void)";

TEST_F(ThreadGroups, that_spin_let_other_threads_run) {
    const auto image = ir_image(kernel("%qs = getelementptr double, ptr %q, i64 %x64\n" + std::string(spin)));
    ASSERT_TRUE(has_groups(image, unchecked(Carrier::automatic)));
    DeviceArray<double> p(64), q(64);
    LaunchOptions options = unchecked(Carrier::automatic);
    options.time_limit_seconds = 20;
    const auto result = launch(image, {2}, {20}, options, p.pointer(), q.pointer(), 0);
    EXPECT_TRUE(result.findings.empty()) << messages(result);
    std::vector<double> expected(64, 0.0);
    std::fill_n(expected.begin(), 20, 6.0);
    EXPECT_EQ(p.read(), expected);
}

TEST_F(ThreadGroups, that_spin_for_ever_are_reported_thread_by_thread) {
    const auto image = ir_image(kernel("%qs = getelementptr double, ptr %q, i64 %x64\n" + std::string(spin)));
    DeviceArray<double> p(64), q(64);
    LaunchOptions options = unchecked(Carrier::automatic);
    options.time_limit_seconds = 0.5;
    const auto result = launch(image, {1}, {20}, options, p.pointer(), q.pointer(), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->threads, 20U) << messages(result);
    // No debug information: places of the code for groups and of that for one thread are told apart.
    EXPECT_NE(result.error()->message.find("threads 0-15 "), std::string::npos) << messages(result);
}

/// They give up their turn together, then go different ways, and give it up one by one.
TEST_F(ThreadGroups, that_part_after_a_turn_run_each_thread_once) {
    const auto image = ir_image(kernel(R"(
  %pj = getelementptr double, ptr %pi, i64 64
  br label %round
round:
  %k = phi i64 [0, %entry], [%k1, %round]
  %s = phi double [0.0, %entry], [%s1, %round]
  %v = load double, ptr %q, align 8
  %s1 = fadd double %s, %v
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %n
  br i1 %more, label %round, label %part
part:
  %odd = trunc i32 %x to i1
  br i1 %odd, label %yes, label %no
yes:
  %a = load double, ptr %pi, align 8
  br label %second
no:
  %f = load float, ptr %pj, align 4
  %b = fpext float %f to double
  br label %second
second:
  %m = phi i64 [0, %yes], [0, %no], [%m1, %second]
  %t = phi double [%a, %yes], [%b, %no], [%t1, %second]
  %u = load double, ptr %q, align 8
  %t1 = fadd double %t, %u
  %m1 = add i64 %m, 1
  %again = icmp slt i64 %m1, %n
  br i1 %again, label %second, label %last
last:
  %old = load double, ptr %pi, align 8
  %both = fadd double %s1, %t1
  %new = fadd double %old, %both
  store double %new, ptr %pi, align 8
  ret void)"));
    ASSERT_TRUE(has_groups(image, unchecked(Carrier::automatic)));
    constexpr std::uint64_t rounds = std::uint64_t{jit::fuel_per_slice} * (slices_per_turn + 1);
    DeviceArray<double> p(128), q(128, 1.0);
    const auto result =
        launch(image, {1}, {20}, unchecked(Carrier::automatic), p.pointer(), q.pointer(), rounds);
    EXPECT_TRUE(result.findings.empty()) << messages(result);
    std::vector<double> expected(128, 0.0);
    std::fill_n(expected.begin(), 20, 2.0 * rounds);
    EXPECT_EQ(p.read(), expected);
}

TEST_F(ThreadGroups, divisions_by_zero_are_found_in_the_thread_that_divides) {
    const auto image = ir_image(kernel(R"(
  %wi = getelementptr i64, ptr %p, i64 %i
  %d = load i64, ptr %wi, align 8
  %r = sdiv i64 100, %d
  %f = sitofp i64 %r to double
  store double %f, ptr %qi, align 8
  ret void)"));
    ASSERT_TRUE(has_groups(image, unchecked(Carrier::automatic)));
    for (const Carrier carrier : {Carrier::fiber, Carrier::automatic}) {
        DeviceArray<std::int64_t> p(96, 5);
        DeviceArray<double> q(96);
        const std::int64_t zero = 0;
        for (const std::uint64_t i : {45, 46, 90}) device().copy_to_device(p.pointer() + 8 * i, &zero, 8);
        const auto result = launch(image, {3}, {32}, unchecked(carrier), p.pointer(), q.pointer(), 0);
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(result.error()->kind, FindingKind::integer_division);
        EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[13, 0, 0] ctaid=[1, 0, 0]");
        EXPECT_EQ(result.error()->count, 3U);
        std::vector<double> expected(96, 20.0);
        expected[45] = expected[46] = expected[90] = 0;
        EXPECT_EQ(q.read(), expected);
    }
}

}  // namespace
}  // namespace cudasim::execution
