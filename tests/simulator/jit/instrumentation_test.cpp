// The seam for checks: an instrumentation of this test's own counts the accesses of
// kernels through a hook of its own.
#include "simulator/jit/instrumentation.h"

#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include "kernels.h"
#include "machine.h"
#include "simulator/image/declared_checks.h"
#include "simulator/jit/c_types.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/object_cache.h"
#include "simulator/jit/site_numbering.h"
#include "temporary_folder.h"

namespace cudasim::jit::testing {
namespace {

struct CountedAccess {
    std::uint32_t thread = 0;
    std::uint64_t address = 0;
    std::uint32_t flags = 0;
    bool in_bounds = false;
    std::uint32_t noted_site = 0;  ///< from site_of()
    std::uint32_t site = 0;        ///< that every hook gets
};

std::vector<CountedAccess> counted;

extern "C" void cudasim_hook_test_access(ThreadContext* context, std::uint64_t address, std::uint32_t flags,
                                         std::uint32_t in_bounds, std::uint32_t noted_site,
                                         std::uint32_t site) {
    counted.push_back({context->thread, address, flags, in_bounds != 0, noted_site, site});
}

const std::array access_hooks = {
    HookAddress{"cudasim_hook_test_access", reinterpret_cast<void*>(&cudasim_hook_test_access)}};

/// What a point of the compilation looks like.
struct Seen {
    std::size_t allocas = 0, calls_of_device_functions = 0, internal = 0;
};

class CountsAccesses final : public Instrumentation {
  public:
    explicit CountsAccesses(std::uint32_t version = 1, std::string name = "counts_accesses")
        : version_(version), name_(std::move(name)) {}
    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] std::uint32_t version() const override { return version_; }
    [[nodiscard]] std::span<const HookAddress> hooks() const override { return access_hooks; }

    void early(Compilation& compilation) const override {
        points.push_back("early");
        seen.push_back(look_at(compilation));
        keep_loads(compilation,
                   [](const llvm::LoadInst& load) { return !load.hasMetadata(marks::internal); });
    }
    void values(Compilation& compilation) const override {
        points.push_back("values");
        seen.push_back(look_at(compilation));
    }
    void late(Compilation& compilation) const override {
        points.push_back("late");
        seen.push_back(look_at(compilation));
        for (llvm::Function& function : *compilation.module) {
            if (!function.isDeclaration()) count_in(compilation, function);
        }
    }

    mutable std::vector<std::string> points;
    mutable std::vector<Seen> seen;

  private:
    static Seen look_at(Compilation& compilation) {
        Seen found;
        for (llvm::Function& function : *compilation.module) {
            for (llvm::Instruction& each : llvm::instructions(function)) {
                const auto* call = llvm::dyn_cast<llvm::CallInst>(&each);
                found.allocas += llvm::isa<llvm::AllocaInst>(each);
                found.calls_of_device_functions +=
                    call && call->getCalledFunction() && !call->getCalledFunction()->isDeclaration();
                found.internal += each.hasMetadata(marks::internal);
            }
        }
        return found;
    }

    static void count_in(Compilation& compilation, llvm::Function& function) {
        std::vector<MemoryAccess> accesses;
        for (llvm::Instruction& each : llvm::instructions(function)) {
            if (each.hasMetadata(marks::internal)) continue;
            for (const MemoryAccess& access : memory_accesses_of(each, function.getDataLayout()))
                accesses.push_back(access);
        }
        llvm::Function* hook =
            declare_hook(*compilation.module, access_hooks[0].name,
                         FunctionTypeOf<decltype(cudasim_hook_test_access)>::get(*compilation.context));
        for (const MemoryAccess& access : accesses) {
            llvm::IRBuilder<> builder(access.at);
            call_hook(
                builder, *hook,
                {builder.CreatePtrToInt(access.address, builder.getInt64Ty()), builder.getInt32(access.flags),
                 builder.getInt32(access.at->hasMetadata(image::in_bounds_mark)),
                 site_of(compilation, *access.at)});
        }
    }

    std::uint32_t version_;
    std::string name_;
};

/// Each thread reads in[tid] (in bounds by a declared check) and in[4] (dead), and writes out[tid].
const std::string kernel = module_head() + R"(
define internal void @touch(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %i) {
  %local = alloca i32, align 4
  %p = getelementptr inbounds i32, ptr addrspace(1) %in, i32 %i
  %q = getelementptr inbounds i32, ptr addrspace(1) %out, i32 %i
  %x = load i32, ptr addrspace(1) %p, align 4, !cudasim.in_bounds !0, !dbg !11
  store i32 %x, ptr %local, align 4
  %y = load i32, ptr %local, align 4
  store i32 %y, ptr addrspace(1) %q, align 4, !dbg !12
  %far = getelementptr inbounds i32, ptr addrspace(1) %in, i64 4
  %dead = load i32, ptr addrspace(1) %far, align 4, !dbg !13
  ret void
}
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) !dbg !5 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @touch(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %tid), !dbg !14
  ret void
}
!0 = !{}
!llvm.module.flags = !{!1}
!llvm.dbg.cu = !{!2}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !3, emissionKind: LineTablesOnly)
!3 = !DIFile(filename: "count.cu", directory: "/tests")
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: "f", file: !3, line: 20, type: !4, unit: !2, spFlags: DISPFlagDefinition)
!6 = distinct !DISubprogram(name: "touch", file: !3, line: 1, type: !4, unit: !2, spFlags: DISPFlagDefinition)
!11 = !DILocation(line: 3, column: 1, scope: !6)
!12 = !DILocation(line: 4, column: 1, scope: !6)
!13 = !DILocation(line: 5, column: 1, scope: !6)
!14 = !DILocation(line: 21, column: 1, scope: !5)
)" + kernels({"f"});

std::string with_subprogram(std::string text) {
    const std::string head = "i32 %i) {";
    return text.replace(text.find(head), head.size(), "i32 %i) !dbg !6 {");
}

struct Counts {
    std::vector<CountedAccess> accesses;
    std::vector<std::int32_t> out;
    std::vector<std::string> places;  ///< of the first thread's accesses: line:line...
};

Counts run_with(const InstrumentationList& list, unsigned optimisation = 2) {
    Buffer<std::int32_t> in({10, 20, 30, 40, 50}), out({0, 0, 0});
    Machine machine(with_subprogram(kernel), {.instrumentations = list, .optimisation = optimisation});
    counted.clear();
    machine.run("f", {{1, 1, 1}, {3, 1, 1}}, {in.address(), out.address()});
    EXPECT_TRUE(machine.events.empty());
    Counts run{counted, out.values(), {}};
    for (const CountedAccess& access : counted) {
        if (access.thread != 0) continue;
        EXPECT_EQ(machine.compiled->sites.at(access.site), machine.compiled->sites.at(access.noted_site));
        std::string lines;
        for (const auto& frame : machine.compiled->sites.at(access.noted_site))
            lines += (lines.empty() ? "" : ":") + std::to_string(frame.line);
        run.places.push_back(lines);
    }
    return run;
}

class Instrumentations : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Optimisation, Instrumentations, ::testing::Values(0U, 2U));

TEST_P(Instrumentations, see_every_access_of_the_kernel_and_none_of_the_compilers) {
    const CountsAccesses counts;
    const InstrumentationList lists[] = {{&counts},
                                         {&counts, &safepoint_polls(), &memory_checks()},
                                         {&safepoint_polls(), &memory_checks(), &counts}};
    for (const auto& list : lists) {
        const Counts run = run_with(list, GetParam());
        EXPECT_EQ(run.out, (std::vector{10, 20, 30}));
        ASSERT_EQ(run.accesses.size(), 9U);
        for (std::uint32_t i = 0; i < 9; ++i) {
            const CountedAccess& access = run.accesses[i];
            EXPECT_EQ(access.thread, i / 3);
            EXPECT_EQ(access.flags, i % 3 == 1 ? access_write : access_read);
            EXPECT_EQ(access.in_bounds, i % 3 == 0);
        }
        EXPECT_EQ(run.places, (std::vector<std::string>{"3:21", "4:21", "5:21"}));
        EXPECT_EQ(run.accesses[3].address - run.accesses[0].address, 4U);
        EXPECT_EQ(run.accesses[2].address - run.accesses[0].address, 16U);
    }
}

TEST(Instrumentation, has_three_points_around_inlining_and_promotion_to_registers) {
    if (ObjectCache::instance().is_on()) GTEST_SKIP() << "nothing is compiled";
    const CountsAccesses counts;
    (void)run_with({&memory_checks(), &counts});
    ASSERT_EQ(counts.points, (std::vector<std::string>{"early", "values", "late"}));
    EXPECT_EQ(counts.seen[0].calls_of_device_functions, 1U);
    EXPECT_EQ(counts.seen[0].allocas, 1U);
    EXPECT_EQ(counts.seen[1].calls_of_device_functions, 0U);
    EXPECT_EQ(counts.seen[1].allocas, 1U);
    EXPECT_EQ(counts.seen[2].calls_of_device_functions, 0U);
    EXPECT_EQ(counts.seen[2].allocas, 0U);
    EXPECT_GT(counts.seen[2].internal, counts.seen[1].internal);  // the lookups of the memory checks
}

TEST(Instrumentation, is_left_out_where_the_list_does_not_name_it) {
    EXPECT_TRUE(run_with(standard_instrumentations()).accesses.empty());
    const std::string loop = module_head() + R"(
define void @f(ptr addrspace(1) %p) {
  br label %again
again:
  %x = load volatile i32, ptr addrspace(1) %p, align 4
  %go = icmp eq i32 %x, 0
  br i1 %go, label %again, label %end
end:
  ret void
}
)" + kernels({"f"});
    const auto text = [&](const InstrumentationList& list) {
        return Machine(loop, {.instrumentations = list}).instrumented("f");
    };
    const auto has = [](const std::string& ir, const char* hook) {
        return ir.find(hook) != std::string::npos;
    };
    EXPECT_TRUE(has(text(standard_instrumentations()), "@cudasim_hook_yield"));
    EXPECT_TRUE(has(text(standard_instrumentations()), "@cudasim_hook_access_check"));
    EXPECT_FALSE(has(text({&safepoint_polls()}), "@cudasim_hook_access_check"));
    EXPECT_FALSE(has(text({&memory_checks()}), "@cudasim_hook_yield"));
    EXPECT_FALSE(has(text({}), "@cudasim_hook_"));
}

TEST(Instrumentation, is_part_of_the_object_caches_key_with_its_version_and_its_turn) {
    const auto image = image::KernelImage::from_ir_text(with_subprogram(kernel));
    const auto key = [&](const InstrumentationList& list) {
        return cache_key(image, "f", {.instrumentations = list});
    };
    const CountsAccesses first(1), second(2), same(1), other(1, "counts_others");
    EXPECT_EQ(key({&first}), key({&same}));
    EXPECT_NE(key({&first}), key({&second}));
    EXPECT_NE(key({&first}), key({&other}));
    EXPECT_NE(key({&first}), key({}));
    EXPECT_NE(key({&first, &other}), key({&other, &first}));
    EXPECT_NE(key({&first}).find("counts_accesses=1"), std::string::npos);
}

TEST(Instrumentation, works_in_a_kernel_from_the_object_cache) {
    ObjectCache& cache = ObjectCache::instance();
    if (cache.is_on()) GTEST_SKIP() << "the whole program runs on a cache";
    TemporaryFolder folder;
    ASSERT_FALSE(cache.use(folder.path().string(), 1 << 20));
    const CountsAccesses counts;
    const std::size_t cold = run_with({&counts}).accesses.size();
    const std::size_t passes = counts.points.size();
    const std::size_t warm = run_with({&counts}).accesses.size();
    cache.switch_off();
    EXPECT_EQ(CacheFolder(folder.path().string(), 0).usage().hits, 1U);
    EXPECT_EQ(counts.points.size(), passes);
    EXPECT_EQ(cold, 9U);
    EXPECT_EQ(warm, 9U);
}

TEST(Instrumentation, alone_may_add_hooks) {
    const std::string stray = module_head() + R"(
declare void @cudasim_hook_test_access(ptr, i64, i32, i32, i32, i32)
define void @f() {
  call void @cudasim_hook_test_access(ptr null, i64 0, i32 0, i32 0, i32 0, i32 0)
  ret void
}
)" + kernels({"f"});
    // The image is not a Machine's: those are kept, and no GPU would take this one either.
    const auto image = image::KernelImage::from_ir_text(stray);
    EXPECT_THROW((void)compile_kernel(image, "f", {}, defined_hooks()), CompileError);
}

TEST(Instrumentation, hooks_of_one_name_are_a_mistake_of_ours) {
    const CountsAccesses counts(1), twice(1, "again");
    EXPECT_THROW((void)run_with({&counts, &twice}), std::logic_error);
}

TEST(InstrumentationList, keeps_order_and_has_each_once) {
    const CountsAccesses one, two;
    InstrumentationList list{&one, &two, &one};
    EXPECT_EQ(list.end() - list.begin(), 2);
    EXPECT_EQ(list, (InstrumentationList{&one, &two}));
    EXPECT_NE(list, (InstrumentationList{&two, &one}));
    list.remove(one);
    EXPECT_FALSE(list.contains(one));
    EXPECT_EQ(list, (InstrumentationList{&two}));
    std::vector<CountsAccesses> many(InstrumentationList::most);
    for (std::size_t i = 1; i < many.size(); ++i) list.add(many[i]);
    EXPECT_THROW(list.add(many[0]), std::length_error);
}

}  // namespace
}  // namespace cudasim::jit::testing
