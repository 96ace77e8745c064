// Orders, scopes, volatile accesses, fences and numbers of barriers in PTX, as late instrumentation in
// the simulator is told of them (PTX ISA, "Memory Consistency Model", "ld", "st", "atom", "red",
// "membar, fence", "bar, barrier").
#include <gtest/gtest.h>

#include "frontend/ptx/reader.h"
#include "tests/simulator/jit/collected_orders.h"

namespace cudasim::ptx {
namespace {

using Lines = std::vector<std::string>;

image::KernelImage kernel(const std::string& body) {
    return read(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry f(.param .u64 p)\n{\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n.reg .b64 "
        "%rd<3>;\nld.param.u64 %rd1, "
        "[p];\nmov.u32 %r1, 1;\n" +
            body + "ret;\n}\n",
        "order.ptx", Entries::kernels);
}

Lines lines_of(const std::string& body) {
    return jit::testing::orders_in(kernel(body), "f");
}

TEST(PtxOrders, loads_and_stores) {
    EXPECT_EQ(lines_of(R"(
ld.global.u32 %r2, [%rd1];
ld.weak.global.u32 %r2, [%rd1];
ld.volatile.global.u32 %r2, [%rd1];
ld.relaxed.cta.global.u32 %r2, [%rd1];
ld.relaxed.gpu.u32 %r2, [%rd1];
ld.acquire.sys.u32 %r2, [%rd1];
st.global.u32 [%rd1], %r1;
st.volatile.u32 [%rd1], %r1;
st.relaxed.cluster.u32 [%rd1], %r1;
st.release.gpu.global.u32 [%rd1], %r1;
)"),
              (Lines{"read plain", "read plain", "read plain volatile", "read relaxed block",
                     "read relaxed device", "read acquire system", "write plain", "write plain volatile",
                     "write relaxed cluster", "write release device"}));
}

TEST(PtxOrders, atomics_are_relaxed_and_the_devices_unless_they_say_otherwise) {
    EXPECT_EQ(lines_of(R"(
atom.global.add.u32 %r2, [%rd1], %r1;
atom.acq_rel.cta.global.add.u32 %r2, [%rd1], %r1;
atom.relaxed.sys.global.inc.u32 %r2, [%rd1], %r1;
atom.acquire.gpu.global.cas.b32 %r2, [%rd1], %r1, %r1;
atom.release.cta.global.cas.b32 %r2, [%rd1], %r1, %r1;
red.global.max.s32 [%rd1], %r1;
red.release.sys.global.add.u32 [%rd1], %r1;
)"),
              (Lines{"update relaxed device", "update acquire_release block", "update relaxed system",
                     "compare acquire acquire device", "compare release relaxed block",
                     "update relaxed device", "update release system"}));
}

TEST(PtxOrders, fences) {
    EXPECT_EQ(lines_of(R"(
membar.cta;
membar.gl;
membar.sys;
fence.sc.cta;
fence.acq_rel.gpu;
fence.acquire.cluster;
fence.release.sys;
fence.proxy.async;
)"),
              (Lines{"fence sequential block", "fence sequential device", "fence sequential system",
                     "fence sequential block", "fence acquire_release device", "fence acquire cluster",
                     "fence release system", "fence acquire_release thread"}));
}

TEST(PtxOrders, barriers_have_numbers) {
    EXPECT_EQ(lines_of("bar.sync 0;\nbar.sync 5;\nbarrier.sync 7;\nbarrier.cta.sync 1;\nbar.warp.sync -1;\n"),
              (Lines{"barrier 0", "barrier 5", "barrier 7", "barrier 1", "warp 0"}));
}

TEST(PtxOrders, barriers_for_some_threads_have_numbers_and_say_for_how_many) {
    Lines lines = lines_of(R"(
ld.global.u32 %r1, [%rd1];
ld.global.u32 %r2, [%rd1];
setp.eq.u32 %p1, %r1, 0;
bar.sync 1, 64;
barrier.sync 2, 96;
barrier.cta.sync.aligned %r1, %r2;
bar.arrive 3, 64;
barrier.arrive 4, %r2;
bar.red.popc.u32 %r3, 5, 32, %p1;
barrier.red.and.pred %p2, 6, %p1;
bar.cta.red.or.pred %p2, %r1, 64, !%p1;
bar.sync 7;
bar.sync 0;
)");
    std::erase_if(lines, [](const std::string& line) { return line.find("plain") != std::string::npos; });
    EXPECT_EQ(lines, (Lines{"barrier 1 of 64", "barrier 2 of 96", "barrier ? of ?", "arrival 3 of 64",
                            "arrival 4 of ?", "barrier 5 of 32", "barrier 6", "barrier ? of 64", "barrier 7",
                            "barrier 0"}));
    for (const char* wrong : {"bar.arrive 1;\n", "bar.sync 1, 32, 5;\n", "bar.red.popc.u32 %r2, 1;\n"})
        EXPECT_THROW((void)kernel(wrong), PtxError) << wrong;
}

TEST(PtxOrders, that_an_instruction_does_not_have_are_refused) {
    for (const char* wrong :
         {"ld.release.gpu.u32 %r2, [%rd1];\n", "st.acquire.gpu.u32 [%rd1], %r1;\n",
          "st.acq_rel.gpu.u32 [%rd1], %r1;\n", "st.async.weak.shared::cluster.u32 [%rd1], %r1;\n",
          "red.async.relaxed.cluster.global.add.u32 [%rd1], %r1;\n"})
        EXPECT_THROW((void)kernel(wrong), PtxError) << wrong;
}

}  // namespace
}  // namespace cudasim::ptx
