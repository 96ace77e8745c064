// Where the address space is limited there is no shadow memory: kernels that need it are refused with a
// reason, kernels whose accesses are index-checked run. Runs in a process of its own, because the shadow is
// the process's.
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

class LimitedAddressSpace : public IrKernelTest {};
INSTANTIATE_TEST_SUITE_P(Modes, LimitedAddressSpace,
                         ::testing::Values(Mode{Carrier::automatic, Policy::forward, 2}), mode_name);

TEST_P(LimitedAddressSpace, refuses_unchecked_accesses_and_runs_checked_ones) {
#if defined(__SANITIZE_ADDRESS__)
    const volatile bool sanitized =
        true;  // volatile: were the rest known to be dead, the program would not link
    if (sanitized) GTEST_SKIP() << "AddressSanitizer itself needs the address space";
#endif
    const rlimit limit{std::uint64_t{8} << 30, std::uint64_t{8} << 30};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    void* beyond =
        mmap(nullptr, limit.rlim_cur, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (beyond != MAP_FAILED)
        GTEST_SKIP() << "the limit of address space is not kept here, as under qemu-user";
    DeviceArray<int> array(4, 1);
    auto checked = ir_image(R"(
define void @k(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = sext i32 %t to i64
  %i = call i64 @__cudasim_check_index(i64 %n, i64 4, i32 0)
  %e = getelementptr i32, ptr %p, i64 %i
  store i32 7, ptr %e, align 4, !cudasim.in_bounds !0
  ret void
}
!0 = !{})");
    EXPECT_EQ(messages(run_ir(checked, {500}, {4}, array.pointer())), "");
    EXPECT_EQ(array.read()[3], 7);
    auto unchecked = ir_image("define void @k(ptr %p) {\n  store i32 1, ptr %p, align 4\n  ret void\n}");
    try {
        (void)run_ir(unchecked, {1}, {1}, array.pointer());
        FAIL() << "ran without its checks";
    } catch (const CudaError& error) {
        EXPECT_NE(std::string(error.what()).find("ulimit -v"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace cudasim::execution
