// Clusters of blocks: that they run together, in every mode and order, and what is said of those that cannot
// go on. What programs see of them is tested in tests/frontend/cuda_cpp/test_clusters.py.
#include <vector>

#include "simulator/execution/launch_limits.h"
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

const std::string declarations = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()
declare i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()
declare void @llvm.nvvm.barrier.cluster.arrive()
declare void @llvm.nvvm.barrier.cluster.wait()
declare ptr @llvm.nvvm.mapa(ptr, i32)
)";

class ClustersOf : public IrKernelTest {
  protected:
    LaunchResult run_clusters(const std::string& body, Dim3 grid, Dim3 block, Dim3 cluster,
                              std::uint64_t argument) {
        const std::uint64_t parameters[2] = {argument, 0};
        image_ = device().load(ir_image(declarations + body));
        return device().launch(*image_, "k", {.grid = grid, .block = block, .cluster = cluster},
                               std::as_bytes(std::span(parameters)), options());
    }
};
INSTANTIATE_TEST_SUITE_P(Modes, ClustersOf, all_modes, mode_name);

/// Each block adds its rank to a variable of every block of its cluster; out: what it has got.
const std::string adds_to_all = R"(
@sum = internal addrspace(3) global i32 undef
define void @k(ptr addrspace(1) %out, i64 %unused) {
entry:
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %count = call i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 100, ptr addrspace(3) @sum
  call void @llvm.nvvm.barrier.cluster.arrive()
  call void @llvm.nvvm.barrier.cluster.wait()
  br label %each
each:
  %other = phi i32 [ 0, %entry ], [ %next, %each ]
  %sum = addrspacecast ptr addrspace(3) @sum to ptr
  %theirs = call ptr @llvm.nvvm.mapa(ptr %sum, i32 %other)
  %was = atomicrmw add ptr %theirs, i32 %rank monotonic
  %next = add i32 %other, 1
  %more = icmp ult i32 %next, %count
  br i1 %more, label %each, label %done
done:
  call void @llvm.nvvm.barrier.cluster.arrive()
  call void @llvm.nvvm.barrier.cluster.wait()
  %place = getelementptr i32, ptr addrspace(1) %out, i32 %block
  %all = load i32, ptr addrspace(3) @sum
  store i32 %all, ptr addrspace(1) %place
  ret void
}
)";

TEST_P(ClustersOf, blocks_use_each_others_shared_memory) {
    constexpr std::uint32_t blocks = 48, threads = 40;
    const DevicePointer out = device().allocate(4 * blocks);
    for (const std::uint32_t size : {1U, 2U, 3U, 8U}) {
        const auto result = run_clusters(adds_to_all, {blocks}, {threads}, {size}, out);
        ASSERT_TRUE(result.findings.empty()) << result.findings.front().message;
        std::vector<std::uint32_t> got(blocks);
        device().copy_from_device(got.data(), out, 4 * blocks);
        for (const std::uint32_t sum : got) EXPECT_EQ(sum, 100 + threads * (size * (size - 1) / 2));
    }
}

/// A block of each cluster waits for one that another order starts last, with a flag in global memory.
const std::string waits_for_flag = R"(
define void @k(ptr addrspace(1) %flags, i64 %unused) {
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %cluster = call i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()
  %flag = getelementptr i32, ptr addrspace(1) %flags, i32 %cluster
  %first = icmp eq i32 %rank, 0
  br i1 %first, label %wait, label %tell
wait:
  %value = load atomic volatile i32, ptr addrspace(1) %flag acquire, align 4
  %told = icmp ne i32 %value, 0
  br i1 %told, label %end, label %wait
tell:
  store atomic volatile i32 1, ptr addrspace(1) %flag release, align 4
  br label %end
end:
  ret void
}
)";

TEST_P(ClustersOf, all_blocks_of_a_cluster_run_at_the_same_time) {
    constexpr std::uint32_t clusters = 3000;  // more blocks than the device holds
    const DevicePointer flags = device().allocate(4 * clusters);
    device().fill(flags, 0, 4 * clusters);
    const auto result = run_clusters(waits_for_flag, {2 * clusters}, {32}, {2}, flags);
    ASSERT_TRUE(result.findings.empty()) << result.findings.front().message;
    EXPECT_EQ(result.blocks_run, 2 * clusters);
}

TEST_P(ClustersOf, those_that_wait_for_others_in_vain_are_a_deadlock_of_the_cluster) {
    const auto result = run_clusters(R"(
define void @k(ptr addrspace(1) %out, i64 %unused) {
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %both = or i32 %rank, %t
  %first = icmp eq i32 %both, 0
  br i1 %first, label %alone, label %others
alone:
  call void @llvm.nvvm.barrier0()
  br label %others
others:
  call void @llvm.nvvm.barrier.cluster.arrive()
  call void @llvm.nvvm.barrier.cluster.wait()
  ret void
}
)",
                                     {4}, {2}, {2}, 0);
    ASSERT_EQ(result.findings.size(), 1);  // one for both clusters: they are at the same places
    EXPECT_EQ(result.findings[0].kind, FindingKind::deadlock);
    EXPECT_NE(result.findings[0].message.find("in block 0 thread 0 waiting at barrier"), std::string::npos)
        << result.findings[0].message;
    EXPECT_EQ(result.blocks_run, 4);
}

TEST_P(ClustersOf, limits_of_clusters) {
    const DeviceProfile& profile = device().profile();
    const auto code_of = [&](Dim3 grid, Dim3 cluster) {
        try {
            check_clusters(profile, {.grid = grid, .block = {1}, .cluster = cluster});
            return 0;
        } catch (const CudaError& error) {
            return static_cast<int>(error.code);
        }
    };
    EXPECT_EQ(code_of({4, 2, 2}, {2, 1, 2}), 0);
    EXPECT_EQ(code_of({16}, {16}), 0);
    EXPECT_EQ(code_of({17}, {17}), 912);
    EXPECT_EQ(code_of({3}, {2}), 912);
    EXPECT_EQ(code_of({2, 3}, {1, 2}), 912);
    EXPECT_EQ(code_of({4}, {0}), 912);
}

}  // namespace
}  // namespace cudasim::execution
