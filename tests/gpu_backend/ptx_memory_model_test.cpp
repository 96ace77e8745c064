// Orders and scopes of memory accesses in PTX.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gpu_backend/ptx_texts.h"

namespace cudasim::gpu_backend {
namespace {

TEST(PtxMemoryModel, orders_of_atomic_operations_are_fences_around_them) {
    const auto body = [](const std::string& operation) {
        const auto ptx =
            ptx_of(header + "define void @k(ptr addrspace(1) %p, i32 %x, ptr addrspace(1) %q) {\n  " +
                       operation + "\n  ret void\n}\n" + k_is_a_kernel,
                   "k");
        const auto fence = ptx.find("membar"), last = ptx.rfind("membar");
        const auto operation_at = std::min({ptx.find("atom.sys"), ptx.find("volatile"), ptx.find("relaxed")});
        if (fence == std::string::npos) return std::string("none");
        return (fence < operation_at ? std::string("before") : "") + (last > operation_at ? "after" : "");
    };
    EXPECT_EQ(body("%v = load atomic i32, ptr addrspace(1) %p acquire, align 4\n  store i32 %v, ptr "
                   "addrspace(1) %q"),
              "after");
    EXPECT_EQ(body("store atomic i32 %x, ptr addrspace(1) %p release, align 4"), "before");
    EXPECT_EQ(
        body("%v = atomicrmw add ptr addrspace(1) %p, i32 %x acq_rel\n  store i32 %v, ptr addrspace(1) %q"),
        "beforeafter");
    EXPECT_EQ(
        body("%v = atomicrmw add ptr addrspace(1) %p, i32 %x release\n  store i32 %v, ptr addrspace(1) %q"),
        "before");
    EXPECT_EQ(body("%v = cmpxchg ptr addrspace(1) %p, i32 %x, i32 7 seq_cst acquire"), "beforeafter");
    EXPECT_EQ(
        body("%v = atomicrmw add ptr addrspace(1) %p, i32 %x monotonic\n  store i32 %v, ptr addrspace(1) %q"),
        "none");
}

TEST(PtxMemoryModel, atomics_have_their_scope) {
    const auto ptx = [](const std::string& operation, const char* architecture = "sm_75") {
        return ptx_of(header +
                          "define void @k(ptr addrspace(1) %p, ptr addrspace(3) %s, ptr %g, i32 %x, float "
                          "%f, ptr addrspace(1) %q) {\n  " +
                          operation + "\n  store i32 %v, ptr addrspace(1) %q\n  ret void\n}\n" +
                          k_is_a_kernel,
                      "k", {.architecture = architecture});
    };
    const std::string add = "%v = atomicrmw add ptr addrspace(1) %p, i32 %x ";
    EXPECT_TRUE(contains(ptx(add + "syncscope(\"device\") monotonic"), "atom.global.add.u32"));
    EXPECT_TRUE(contains(ptx(add + "syncscope(\"block\") monotonic"), "atom.cta.global.add.u32"));
    EXPECT_TRUE(contains(ptx(add + "monotonic"), "atom.sys.global.add.u32"));
    EXPECT_TRUE(contains(ptx(add + "monotonic", "sm_52"), "atom.global.add.u32"));
    const auto block = [&](const std::string& operation) { return ptx(operation); };
    EXPECT_TRUE(
        contains(block("%v = atomicrmw umax ptr addrspace(3) %s, i32 %x syncscope(\"block\") monotonic"),
                 "atom.cta.shared.max.u32"));
    EXPECT_TRUE(contains(block("%v = atomicrmw uinc_wrap ptr %g, i32 %x monotonic"), "atom.sys.inc.u32"));
    EXPECT_TRUE(contains(block("%v = atomicrmw uinc_wrap ptr %g, i32 %x syncscope(\"device\") monotonic"),
                         "atom.inc.u32"));
    EXPECT_TRUE(
        contains(block("%o = atomicrmw fadd ptr addrspace(1) %p, float %f syncscope(\"block\") monotonic\n"
                       "  %v = fptosi float %o to i32"),
                 "atom.cta.global.add.f32"));
    EXPECT_TRUE(contains(block("%o = atomicrmw xchg ptr addrspace(1) %p, float %f monotonic\n"
                               "  %v = fptosi float %o to i32"),
                         "atom.sys.global.exch.b32"));
    EXPECT_TRUE(
        contains(block("%c = cmpxchg ptr addrspace(1) %p, i32 %x, i32 7 syncscope(\"block\") monotonic "
                       "monotonic\n  %v = extractvalue { i32, i1 } %c, 0"),
                 "atom.cta.global.cas.b32"));
    const auto ordered = ptx(add + "syncscope(\"block\") acq_rel");
    EXPECT_TRUE(contains(ordered, "membar.cta") && contains(ordered, "atom.cta.global.add.u32")) << ordered;
}

TEST(PtxMemoryModel, atomic_loads_and_stores_are_relaxed_ones) {
    const auto ptx = [](const std::string& access, const std::string& architecture = "sm_70") {
        return ptx_of(header +
                          "define void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %x, float %f) {\n" +
                          access + R"(
  store i32 %x, ptr addrspace(1) %q
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)",
                      "k", {.architecture = architecture});
    };
    const std::string load =
        "%v = load atomic i32, ptr addrspace(1) %p syncscope(\"device\") monotonic, align 4";
    EXPECT_TRUE(contains(ptx(load), "ld.relaxed.gpu.global.b32"));
    EXPECT_TRUE(contains(ptx(load, "sm_60"), "ld.volatile.global.u32"));
    EXPECT_TRUE(
        contains(ptx("store atomic i32 %x, ptr addrspace(1) %p syncscope(\"block\") monotonic, align 4"),
                 "st.relaxed.cta.global.b32"));
    EXPECT_TRUE(contains(ptx("store atomic float %f, ptr addrspace(1) %p release, align 4"),
                         "st.relaxed.sys.global.b32"));
    EXPECT_TRUE(
        contains(ptx("%v = load volatile i32, ptr addrspace(1) %p, align 4"), "ld.volatile.global.u32"));
}

TEST(PtxMemoryModel, fences_have_the_level_of_their_scope) {
    for (const auto& [scope, level] :
         {std::pair{"", "membar.sys"}, std::pair{"syncscope(\"block\") ", "membar.cta"},
          std::pair{"syncscope(\"device\") ", "membar.gl"},
          std::pair{"syncscope(\"unheard-of\") ", "membar.sys"}}) {
        const auto ptx = ptx_of(
            header + "define void @k() {\n  fence " + scope + "acq_rel\n  ret void\n}\n" + k_is_a_kernel,
            "k");
        EXPECT_TRUE(contains(ptx, level)) << ptx;
    }
}

}  // namespace
}  // namespace cudasim::gpu_backend
