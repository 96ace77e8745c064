// Kernels that wait in the kernel itself are coroutines (E1): the same results and findings as on fibers,
// also when a thread faults, spins, ends or goes elsewhere between two barriers.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

class Coroutines : public IrKernelTest {};
INSTANTIATE_TEST_SUITE_P(Modes, Coroutines, all_modes, mode_name);

std::shared_ptr<const jit::CompiledKernel> compiled(const image::KernelImage& image,
                                                    jit::CompileOptions options = {}) {
    return device().compile(*device().load(image), "k", options);
}

/// Thread t: p = its place in @out. What `body` does with them follows.
image::KernelImage kernel(std::string_view body, std::string_view outside = "") {
    return ir_image(std::string(outside) + R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 16
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %s = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %t
)" + std::string(body) +
                    "}");
}

const char* const exchange = R"(
  store i32 %t, ptr addrspace(3) %s, align 4
  call void @llvm.nvvm.barrier0()
  %other = xor i32 %t, 1
  %q = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %other
  %v = load i32, ptr addrspace(3) %q, align 4
  store i32 %v, ptr addrspace(1) %p, align 4
  ret void
)";

TEST(CoroutineKernels, are_chosen_where_every_barrier_lies_in_the_kernel) {
    EXPECT_EQ(compiled(kernel(exchange))->resume_points.size(), 1U);
    EXPECT_TRUE(compiled(kernel(exchange), {.coroutines = false})->resume_points.empty());
    EXPECT_TRUE(compiled(kernel("ret void"))->resume_points.empty());
}

TEST(CoroutineKernels, are_not_chosen_where_no_barrier_can_be_reached) {
    auto image = kernel(R"(
  br i1 false, label %never, label %end
never:
  call void @llvm.nvvm.barrier0()
  br label %end
end:
  store i32 %t, ptr addrspace(1) %p, align 4
  ret void
)");
    EXPECT_TRUE(compiled(image)->resume_points.empty());
    DeviceArray<int> out(64, -1);
    const std::uint64_t parameters[2] = {out.pointer(), 0};
    EXPECT_EQ(messages(device().launch(*device().load(image), "k", {{1}, {64}, 0},
                                       std::as_bytes(std::span(parameters)), {})),
              "");
    EXPECT_EQ(out.read()[63], 63);
}

TEST(CoroutineKernels, are_not_chosen_for_local_arrays_that_anybody_may_reach) {
    const char* const escaping = R"(
  %a = alloca [8 x i32], align 4
  store ptr %a, ptr addrspace(1) %flag, align 8
  call void @llvm.nvvm.barrier0()
  %l = load ptr, ptr addrspace(1) %flag, align 8
  %i = and i32 %t, 7
  %x = getelementptr i32, ptr %l, i32 %i
  store i32 %t, ptr %x, align 4
  ret void
)";
    EXPECT_TRUE(compiled(kernel(escaping))->resume_points.empty());
}

TEST(CoroutineKernels, are_not_chosen_for_barriers_in_recursive_functions) {
    const char* const recursive = R"(
define internal void @down(i32 %n) {
  call void @llvm.nvvm.barrier0()
  %done = icmp eq i32 %n, 0
  br i1 %done, label %end, label %deeper
deeper:
  %m = sub i32 %n, 1
  call void @down(i32 %m)
  br label %end
end:
  ret void
}
)";
    EXPECT_TRUE(
        compiled(kernel("call void @down(i32 3)\n store i32 %t, ptr addrspace(1) %p, align 4\n ret void\n",
                        recursive))
            ->resume_points.empty());
}

/// A tree reduction over 64 threads. Whether a thread adds in one step follows from whether it added in the
/// one before, so the optimiser would like to join the branches around the barriers.
const char* const tree = R"(
  store i32 %t, ptr addrspace(3) %s, align 4
  call void @llvm.nvvm.barrier0()
  br label %step
step:
  %n = phi i32 [ 32, %0 ], [ %half, %met ]
  %adds = icmp ult i32 %t, %n
  br i1 %adds, label %add, label %met
add:
  %other = add i32 %t, %n
  %q = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %other
  %a = load i32, ptr addrspace(3) %s, align 4
  %b = load i32, ptr addrspace(3) %q, align 4
  %sum = add i32 %a, %b
  store i32 %sum, ptr addrspace(3) %s, align 4
  br label %met
met:
  call void @llvm.nvvm.barrier0()
  %half = lshr i32 %n, 1
  %more = icmp ne i32 %half, 0
  br i1 %more, label %step, label %end
end:
  %total = load i32, ptr addrspace(3) @tile, align 4
  store i32 %total, ptr addrspace(1) %p, align 4
  ret void
)";

TEST(CoroutineKernels, have_no_barrier_copied_behind_a_branch_on_the_thread) {
    // One in front of the loop and, unrolled, six in it.
    for (const bool checks : {true, false}) {
        jit::CompileOptions options;
        if (!checks) options.instrumentations.remove(jit::memory_checks());
        EXPECT_LE(compiled(kernel(tree), options)->resume_points.size(), 7U) << checks;
    }
}

TEST_P(Coroutines, a_local_array_is_each_threads_own_across_barriers) {
    const auto image = kernel(R"(
  %a = alloca [8 x i32], align 4
  br label %fill
fill:
  %n = phi i32 [ 0, %0 ], [ %n1, %fill ]
  %w = getelementptr [8 x i32], ptr %a, i32 0, i32 %n
  %tn = mul i32 %t, %n
  store i32 %tn, ptr %w, align 4, !cudasim.in_bounds !{}
  call void @llvm.nvvm.barrier0()
  %n1 = add i32 %n, 1
  %more = icmp ult i32 %n1, 8
  br i1 %more, label %fill, label %done
done:
  %i = and i32 %t, 7
  %r = getelementptr [8 x i32], ptr %a, i32 0, i32 %i
  %v = load i32, ptr %r, align 4, !cudasim.in_bounds !{}
  store i32 %v, ptr addrspace(1) %p, align 4
  ret void
)");
    if (GetParam().carrier == Carrier::automatic) EXPECT_FALSE(compiled(image)->resume_points.empty());
    DeviceArray<int> out(64, -1);
    EXPECT_EQ(messages(run_ir(image, {1}, {64}, out.pointer(), out.pointer())), "");
    const auto& values = out.read();
    for (int t = 0; t < 64; ++t) EXPECT_EQ(values[t], t * (t & 7));
}

TEST_P(Coroutines, a_thread_that_faults_between_barriers_ends_alone) {
    auto image = kernel(R"(
  store i32 %t, ptr addrspace(3) %s, align 4
  call void @llvm.nvvm.barrier0()
  %five = icmp eq i32 %t, 5
  br i1 %five, label %fault, label %fine
fault:
  call void @llvm.trap()
  unreachable
fine:
  call void @llvm.nvvm.barrier0()
  %v = load i32, ptr addrspace(3) %s, align 4
  store i32 %v, ptr addrspace(1) %p, align 4
  ret void
)");
    DeviceArray<int> out(64, -1);
    const auto result = run_ir(image, {1}, {64}, out.pointer(), out.pointer());
    ASSERT_EQ(result.findings.size(), 1U) << messages(result);
    EXPECT_EQ(result.findings[0].kind, findings::FindingKind::trap);
    EXPECT_EQ(result.findings[0].thread.thread, 5U);
    const auto& values = out.read();
    for (int t = 0; t < 64; ++t) EXPECT_EQ(values[t], t == 5 ? -1 : t);
}

TEST_P(Coroutines, a_thread_may_spin_for_one_whose_turn_is_still_to_come) {
    auto image = kernel(R"(
  call void @llvm.nvvm.barrier0()
  %first = icmp eq i32 %t, 3
  br i1 %first, label %wait, label %others
wait:
  %seen = load atomic i32, ptr addrspace(1) %flag monotonic, align 4
  %enough = icmp sge i32 %seen, 63
  br i1 %enough, label %join, label %wait
others:
  %old = atomicrmw add ptr addrspace(1) %flag, i32 1 monotonic
  br label %join
join:
  %x = phi i32 [ %seen, %wait ], [ %t, %others ]
  call void @llvm.nvvm.barrier0()
  store i32 %x, ptr addrspace(1) %p, align 4
  ret void
)");
    DeviceArray<int> out(64, -1), flag(1);
    EXPECT_EQ(messages(run_ir(image, {1}, {64}, out.pointer(), flag.pointer())), "");
    const auto& values = out.read();
    for (int t = 0; t < 64; ++t) EXPECT_EQ(values[t], t == 3 ? 63 : t);
}

TEST_P(Coroutines, a_spin_that_can_never_end_between_barriers_is_a_livelock) {
    auto image = kernel(R"(
  call void @llvm.nvvm.barrier0()
  %three = icmp eq i32 %t, 3
  br i1 %three, label %wait, label %join
wait:
  %seen = load atomic i32, ptr addrspace(1) %flag monotonic, align 4
  %enough = icmp sge i32 %seen, 63
  br i1 %enough, label %join, label %wait
join:
  call void @llvm.nvvm.barrier0()
  store i32 %t, ptr addrspace(1) %p, align 4
  ret void
)");
    DeviceArray<int> out(64, -1), flag(1);
    const auto result = run_ir(image, {1}, {64}, out.pointer(), flag.pointer());
    ASSERT_EQ(result.findings.size(), 1U) << messages(result);
    EXPECT_EQ(result.findings[0].kind, findings::FindingKind::livelock);
    ASSERT_EQ(result.findings[0].waiting.size(), 2U);
    EXPECT_EQ(result.findings[0].waiting[0].state, "waiting at barrier");
    EXPECT_EQ(findings::ranges(result.findings[0].waiting[0].threads), "0-2, 4-63");
    EXPECT_EQ(findings::ranges(result.findings[0].waiting[1].threads), "3");
}

TEST_P(Coroutines, different_barriers_are_a_divergence_that_names_who_waits_where) {
    auto image = kernel(R"(
  %low = icmp ult i32 %t, 20
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.barrier0()
  store i32 1, ptr addrspace(1) %p, align 4
  ret void
two:
  call void @llvm.nvvm.barrier0()
  store i32 2, ptr addrspace(1) %p, align 4
  ret void
)");
    DeviceArray<int> out(64, -1);
    const auto result = run_ir(image, {1}, {64}, out.pointer(), out.pointer());
    ASSERT_EQ(result.findings.size(), 1U) << messages(result);
    EXPECT_EQ(result.findings[0].kind, findings::FindingKind::barrier_divergence);
    ASSERT_EQ(result.findings[0].waiting.size(), 2U);
    EXPECT_EQ(findings::ranges(result.findings[0].waiting[0].threads), "0-19");
    EXPECT_EQ(findings::ranges(result.findings[0].waiting[1].threads), "20-63");
    EXPECT_EQ(out.read(), std::vector<int>(64, -1));
}

TEST_P(Coroutines, threads_that_ended_are_warned_of_and_counting_leaves_them_out) {
    auto image = kernel(R"(
  %early = icmp ult i32 %t, 10
  br i1 %early, label %end, label %go
go:
  %odd = and i32 %t, 1
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 %odd)
  store i32 %n, ptr addrspace(1) %p, align 4
  br label %end
end:
  ret void
)");
    DeviceArray<int> out(64, -1);
    const auto result = run_ir(image, {1}, {64}, out.pointer(), out.pointer());
    ASSERT_EQ(result.findings.size(), 1U) << messages(result);
    EXPECT_EQ(result.findings[0].kind, findings::FindingKind::barrier_early_exit);
    EXPECT_EQ(result.findings[0].threads, 10U);
    const auto& values = out.read();
    for (int t = 0; t < 64; ++t) EXPECT_EQ(values[t], t < 10 ? -1 : 27);
}

/// In every phase but the first some threads wait at the barrier and others are over, in all orders.
TEST_P(Coroutines, threads_of_every_block_shape_go_on_as_often_as_they_wait) {
    auto image = ir_image(R"(
define void @k(ptr addrspace(1) %out, i64 %rows) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %columns = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %rows.in.layer = trunc i64 %rows to i32
  %layers.before = mul i32 %z, %rows.in.layer
  %row = add i32 %layers.before, %y
  %before = mul i32 %row, %columns
  %t = add i32 %before, %x
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %turns = and i32 %t, 3
  br label %turn
turn:
  %i = phi i32 [ 0, %0 ], [ %next, %wait ]
  %sum = phi i32 [ 1, %0 ], [ %more, %wait ]
  %over = icmp eq i32 %i, %turns
  br i1 %over, label %end, label %wait
wait:
  call void @llvm.nvvm.barrier0()
  %y.part = mul i32 %y, 100
  %z.part = mul i32 %z, 10000
  %times = mul i32 %sum, 7
  %with.x = add i32 %times, %x
  %with.y = add i32 %with.x, %y.part
  %more = add i32 %with.y, %z.part
  %next = add i32 %i, 1
  br label %turn
end:
  store i32 %sum, ptr addrspace(1) %p, align 4
  ret void
}
)");
    if (options().carrier == Carrier::automatic) EXPECT_EQ(compiled(image)->resume_points.size(), 1U);
    for (const Dim3 shape :
         {Dim3{64}, Dim3{1, 64}, Dim3{1, 1, 64}, Dim3{5, 4, 3}, Dim3{33, 2}, Dim3{2, 1, 7}}) {
        std::vector<int> expected;
        for (std::uint32_t t = 0; t < shape.volume(); ++t) {
            const auto x = static_cast<int>(t % shape.x), y = static_cast<int>(t / shape.x % shape.y),
                       z = static_cast<int>(t / shape.x / shape.y);
            int sum = 1;
            for (std::uint32_t i = 0; i < (t & 3); ++i) sum = sum * 7 + x + 100 * y + 10000 * z;
            expected.push_back(sum);
        }
        DeviceArray<int> out(expected.size(), -1);
        const auto result = run_ir(image, {1}, shape, out.pointer(), shape.y);
        ASSERT_EQ(result.findings.size(), 1U) << messages(result);
        EXPECT_EQ(result.findings[0].kind, findings::FindingKind::barrier_early_exit);
        EXPECT_EQ(out.read(), expected) << shape.x << " x " << shape.y << " x " << shape.z;
    }
}

TEST_P(Coroutines, the_time_limit_says_who_runs_and_who_waits) {
    auto image = kernel(R"(
  call void @llvm.nvvm.barrier0()
  %nine = icmp eq i32 %t, 9
  br i1 %nine, label %loop, label %join
loop:
  %n = phi i32 [ 0, %0 ], [ %n1, %loop ]
  %n1 = add i32 %n, 1
  store volatile i32 %n1, ptr addrspace(1) %p, align 4
  br label %loop
join:
  call void @llvm.nvvm.barrier0()
  store i32 %t, ptr addrspace(1) %p, align 4
  ret void
)");
    DeviceArray<int> out(64, -1);
    const std::uint64_t parameters[2] = {out.pointer(), out.pointer()};
    auto loaded = device().load(image);
    LaunchOptions limited = options();
    limited.time_limit_seconds = 0.3;
    const auto result =
        device().launch(*loaded, "k", {{1}, {64}, 0}, std::as_bytes(std::span(parameters)), limited);
    ASSERT_EQ(result.findings.size(), 1U) << messages(result);
    EXPECT_EQ(result.findings[0].kind, findings::FindingKind::time_limit);
    ASSERT_EQ(result.findings[0].waiting.size(), 2U);
    EXPECT_EQ(findings::ranges(result.findings[0].waiting[0].threads), "0-8, 10-63");
    EXPECT_EQ(findings::ranges(result.findings[0].waiting[1].threads), "9");
}

/// Random structured kernels: variables of several types in stack slots (in registers once compiled),
/// branches that differ between threads, loops and branches that do not and contain barriers.
class RandomKernel {
  public:
    explicit RandomKernel(unsigned seed) : random_(seed) {}

    image::KernelImage image() {
        for (int i = 0; i < variables; ++i)
            slots_ += "  %v" + std::to_string(i) + " = alloca " + type(i) + ", align 16\n";
        slots_ += "  %array = alloca [4 x i32], align 16\n";
        for (int i = 0; i < 4; ++i) {
            const std::string place = name();
            line(place + " = getelementptr [4 x i32], ptr %array, i32 0, i32 " + std::to_string(i));
            line("store i32 " + std::to_string(i * 7) + ", ptr " + place +
                 ", align 4, !cudasim.in_bounds !{}");
        }
        for (int i = 0; i < variables; ++i) store(i, converted("%t", i));
        statements(3, true);
        std::string sum = "%t";
        for (int i = 0; i < variables; ++i) {
            const std::string value = load(i);
            const std::string bits = name();
            if (type(i) == "float")
                line(bits + " = bitcast float " + value + " to i32");
            else if (type(i) == "i64")
                line(bits + " = trunc i64 " + value + " to i32");
            else
                line(bits + " = add i32 0, " + value);
            const std::string next = name(), scaled = name();
            line(scaled + " = mul i32 " + sum + ", 31");
            line(next + " = add i32 " + scaled + ", " + bits);
            sum = next;
        }
        line("store i32 " + sum + ", ptr addrspace(1) %p, align 4");
        line("ret void");
        return kernel(slots_ + text_);
    }

  private:
    static constexpr int variables = 7;
    static std::string type(int variable) { return variable < 4 ? "i32" : variable < 6 ? "float" : "i64"; }
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    std::string name() { return "%r" + std::to_string(next_++); }
    void line(const std::string& what) { text_ += "  " + what + "\n"; }
    void label(const std::string& what) { text_ += what + ":\n"; }
    std::string load(int variable) {
        const std::string result = name();
        line(result + " = load " + type(variable) + ", ptr %v" + std::to_string(variable) + ", align 16");
        return result;
    }
    void store(int variable, const std::string& value) {
        line("store " + type(variable) + " " + value + ", ptr %v" + std::to_string(variable) + ", align 16");
    }
    /// An i32 as the variable's type; small, so that floats stay exact.
    std::string converted(const std::string& value, int variable) {
        if (type(variable) == "i32") return value;
        const std::string result = name();
        if (type(variable) == "i64")
            line(result + " = sext i32 " + value + " to i64");
        else
            line(result + " = sitofp i32 " + value + " to float");
        return result;
    }
    /// An element of the thread's own array changes places with a variable.
    void exchange_with_array() {
        const int variable = static_cast<int>(below(4));
        const std::string index = name(), place = name(), old = name(), value = load(variable);
        line(index + " = and i32 " + load(static_cast<int>(below(4))) + ", 3");
        line(place + " = getelementptr [4 x i32], ptr %array, i32 0, i32 " +
             (below(2) ? index : std::to_string(below(4))));
        line(old + " = load i32, ptr " + place + ", align 4, !cudasim.in_bounds !{}");
        line("store i32 " + value + ", ptr " + place + ", align 4, !cudasim.in_bounds !{}");
        store(variable, old);
    }
    void assign() {
        if (below(5) == 0) return exchange_with_array();
        const int target = static_cast<int>(below(variables));
        const std::string old = load(target), result = name();
        const std::string operand = converted(
            type(target) == "i32" ? load(static_cast<int>(below(4))) : std::to_string(below(9)), target);
        const char* const integer[] = {"add", "sub", "mul", "xor"};
        const char* const real[] = {"fadd", "fsub", "fmul"};
        line(result + " = " + (type(target) == "float" ? real[below(3)] : integer[below(4)]) + " " +
             type(target) + " " + old + ", " + operand);
        store(target, result);
    }
    /// All lanes of both warps come here.
    void warp_operation() {
        const std::string result = name();
        const std::string value = load(static_cast<int>(below(4)));
        switch (below(3)) {
            case 0:
                line(result + " = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 " + value + ", i32 " +
                     std::to_string(1 + below(31)) + ", i32 31)");
                break;
            case 1:
                line(result + " = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 " + value + ", i32 " +
                     load(static_cast<int>(below(4))) + ", i32 31)");
                break;
            default: {
                const std::string odd = name(), bit = name();
                line(odd + " = and i32 " + value + ", 1");
                line(bit + " = icmp eq i32 " + odd + ", 0");
                line(result + " = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 " + bit + ")");
            }
        }
        store(static_cast<int>(below(4)), result);
    }
    void barrier() {
        if (below(3) == 0) return warp_operation();
        if (below(4) == 0) {
            const std::string bit = name(), count = name();
            line(bit + " = and i32 " + load(static_cast<int>(below(4))) + ", 1");
            line(count + " = call i32 @llvm.nvvm.barrier0.popc(i32 " + bit + ")");
            store(static_cast<int>(below(4)), count);
            return;
        }
        // Everybody writes, all wait, everybody reads a neighbour's, all wait.
        line("store i32 " + load(static_cast<int>(below(4))) + ", ptr addrspace(3) %s, align 4");
        line("call void @llvm.nvvm.barrier0()");
        const std::string other = name(), wrapped = name(), place = name(), value = name();
        line(other + " = add i32 %t, " + std::to_string(1 + below(63)));
        line(wrapped + " = and i32 " + other + ", 63");
        line(place + " = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 " + wrapped);
        line(value + " = load i32, ptr addrspace(3) " + place + ", align 4");
        line("call void @llvm.nvvm.barrier0()");
        store(static_cast<int>(below(4)), value);
    }
    void branch(int depth, bool uniform) {
        const std::string number = std::to_string(label_++), condition = name(), bit = name();
        // Block-uniform: the first kernel parameter's low bits, which all threads share.
        line(bit + " = and i32 " + (uniform ? "%shared_bits" : load(static_cast<int>(below(4)))) + ", " +
             std::to_string(1 << below(3)));
        line(condition + " = icmp eq i32 " + bit + ", 0");
        line("br i1 " + condition + ", label %then" + number + ", label %else" + number);
        label("then" + number);
        statements(depth - 1, uniform);
        line("br label %end" + number);
        label("else" + number);
        if (below(2) == 0) statements(depth - 1, uniform);
        line("br label %end" + number);
        label("end" + number);
    }
    void loop(int depth, bool uniform) {
        const std::string number = std::to_string(label_++), count = name(), next = name(), more = name();
        slots_ += "  " + count + ".slot = alloca i32, align 4\n";
        line("store i32 0, ptr " + count + ".slot, align 4");
        line("br label %loop" + number);
        label("loop" + number);
        statements(depth - 1, uniform);
        line(count + " = load i32, ptr " + count + ".slot, align 4");
        line(next + " = add i32 " + count + ", 1");
        line("store i32 " + next + ", ptr " + count + ".slot, align 4");
        line(more + " = icmp ult i32 " + next + ", " + std::to_string(1 + below(4)));
        line("br i1 " + more + ", label %loop" + number + ", label %done" + number);
        label("done" + number);
    }
    /// uniform: all threads of the block come here, so a barrier may stand here.
    void statements(int depth, bool uniform) {
        if (text_.find("%shared_bits") == std::string::npos) {
            line("%address = ptrtoint ptr addrspace(1) %flag to i64");
            line("%shared_bits = trunc i64 %address to i32");
        }
        for (unsigned n = 1 + below(3); n > 0; --n) {
            const unsigned choice = below(10);
            if (depth > 0 && choice < 2)
                loop(depth, uniform);
            else if (depth > 0 && choice < 4)
                branch(depth, uniform && choice == 2);
            else if (uniform && choice < 7)
                barrier();
            else
                assign();
        }
    }

    std::mt19937 random_;
    std::string slots_, text_;
    int next_ = 0, label_ = 0;
};

TEST(CoroutineKernels, random_kernels_compute_what_they_compute_on_fibers) {
    const char* const wished = std::getenv("CUDASIM_RANDOM_KERNELS");
    const unsigned kernels = wished ? static_cast<unsigned>(std::atoi(wished)) : 60;
    unsigned coroutines = 0, lanes_meet = 0;
    for (unsigned seed = 0; seed < kernels; ++seed) {
        const image::KernelImage image = RandomKernel(seed).image();
        auto loaded = device().load(image);
        const auto points = device().compile(*loaded, "k", {})->resume_points;
        coroutines += !points.empty();
        lanes_meet += std::ranges::any_of(points, &jit::ResumePoint::in_warp);
        std::vector<std::vector<int>> results;
        for (const Mode mode :
             {Mode{Carrier::fiber, Policy::forward, 1}, Mode{Carrier::automatic, Policy::forward, 1},
              Mode{Carrier::automatic, Policy::reverse, 1}}) {
            DeviceArray<int> out(64, -1);
            const std::uint64_t parameters[2] = {out.pointer(), seed};
            LaunchOptions options;
            options.carrier = mode.carrier;
            options.policy = mode.policy;
            options.time_limit_seconds = 5;
            const auto result =
                device().launch(*loaded, "k", {{1}, {64}, 0}, std::as_bytes(std::span(parameters)), options);
            EXPECT_EQ(messages(result), "") << "seed " << seed;
            results.push_back(out.read());
        }
        EXPECT_EQ(results[1], results[0]) << "forward, seed " << seed;
        EXPECT_EQ(results[2], results[0]) << "reverse, seed " << seed;
    }
    EXPECT_GT(coroutines, kernels / 2);
    EXPECT_GT(lanes_meet, kernels / 4);
}

}  // namespace
}  // namespace cudasim::execution
