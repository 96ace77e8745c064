// Kernels whose variables lie at given addresses: their PTX, read back by frontend/ptx, runs on the variables
// of the image that it was made from, and leaves what the image's own code leaves.
#include "gpu_backend/placed_globals.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "frontend/ptx/reader.h"
#include "gpu_backend/ptx.h"
#include "simulator/execution/loaded_image.h"
#include "simulator/image/function_handles.h"
#include "simulator/image/globals_placement.h"
#include "tests/simulator/execution/ir_lines.h"

namespace cudasim::gpu_backend {
namespace {

using execution::device;
using execution::DeviceArray;

std::uint64_t bytes_of_variables(const image::KernelImage& image) {
    llvm::LLVMContext context;
    const auto bitcode = image.bitcode();
    auto parsed = llvm::parseBitcodeFile({{bitcode.data(), bitcode.size()}, "image"}, context);
    EXPECT_TRUE(static_cast<bool>(parsed));
    return image::place_globals(**parsed).bytes;
}

struct Outcome {
    std::vector<std::uint64_t> array;
    std::vector<std::byte> variables;
    std::string printed;
    bool operator==(const Outcome&) const = default;
};

class PlacedGlobals : public execution::IrKernelTest {
  protected:
    /// The kernel `k` gets the address of 16 zero words. Both ways leave the same there and in the variables.
    void expect_same(const std::string& body) { expect_same(execution::ir_image(body)); }

    void expect_same(const image::KernelImage& image) {
        const auto loaded = device().load(image);
        (void)loaded->prepare("k", options().compile_options());
        base_ = device().globals_base(*loaded);
        ASSERT_NE(base_, 0U);
        std::vector<std::byte> before(bytes_of_variables(image));
        std::memcpy(before.data(), reinterpret_cast<const void*>(base_), before.size());
        const Outcome expected = outcome(image, before.size());
        std::memcpy(reinterpret_cast<void*>(base_), before.data(), before.size());
        const auto again = ptx::read(ptx_of(image), "k.ptx", ptx::Entries::kernels);
        const Outcome found = outcome(again, before.size());
        EXPECT_EQ(found.array, expected.array) << ptx_;
        EXPECT_EQ(found.variables, expected.variables) << ptx_;
        EXPECT_EQ(found.printed, expected.printed) << ptx_;
        array_ = expected.array;
        printed_ = expected.printed;
    }

    const std::string& ptx_of(const image::KernelImage& image) {
        PtxOptions wanted;
        wanted.globals_base = base_;
        wanted.function_handles = true;
        return ptx_ = to_ptx(image, "k", wanted);
    }

    Outcome outcome(const image::KernelImage& image, std::uint64_t bytes) {
        DeviceArray<std::uint64_t> array(16);
        Outcome result;
        auto launch = options();
        launch.write_output = [&](std::string_view text) {
            result.printed += text;
            return true;
        };
        const std::uint64_t parameters[] = {array.pointer()};
        image_ = device().load(image);
        const auto ran =
            device().launch(*image_, "k", {{1}, {1}, 0}, std::as_bytes(std::span(parameters)), launch);
        EXPECT_EQ(ran.error(), nullptr) << execution::messages(ran) << ptx_;
        result.array = array.read();
        const auto* variables = reinterpret_cast<const std::byte*>(base_);
        result.variables.assign(variables, variables + bytes);
        return result;
    }

    /// Where no variable of the module is left but those of shared memory.
    [[nodiscard]] bool has_no_variables() const {
        return ptx_.find("\n.global") == std::string::npos &&
               ptx_.find("\n.visible .global") == std::string::npos &&
               ptx_.find(".const ") == std::string::npos;
    }

    std::uint64_t base_ = 0x200000000000;
    std::string ptx_, printed_;
    std::vector<std::uint64_t> array_;
};
INSTANTIATE_TEST_SUITE_P(Modes, PlacedGlobals,
                         ::testing::Values(execution::Mode{execution::Carrier::automatic,
                                                           execution::Policy::forward, 1}),
                         execution::mode_name);

TEST_P(PlacedGlobals, arrays_in_constant_memory_are_read) {
    expect_same(R"(
@weights = addrspace(4) constant [3 x i64] [i64 5, i64 6, i64 7], align 8
define void @k(ptr %out) {
  %i = load volatile i64, ptr %out
  %at = getelementptr [3 x i64], ptr addrspace(4) @weights, i64 0, i64 %i
  %next = getelementptr i64, ptr addrspace(4) %at, i64 2
  %a = load i64, ptr addrspace(4) %at
  %b = load i64, ptr addrspace(4) %next
  %generic = addrspacecast ptr addrspace(4) %next to ptr
  %c = load i64, ptr %generic
  store i64 %a, ptr %out
  %out1 = getelementptr i64, ptr %out, i64 1
  store i64 %b, ptr %out1
  %out2 = getelementptr i64, ptr %out, i64 2
  store i64 %c, ptr %out2
  ret void
})");
    EXPECT_EQ(array_[0], 5U);
    EXPECT_EQ(array_[1], 7U);
    EXPECT_EQ(array_[2], 7U);
    EXPECT_TRUE(has_no_variables()) << ptx_;
}

TEST_P(PlacedGlobals, stores_to_variables_arrive) {
    expect_same(R"(
@count = addrspace(1) global i64 40, align 8
@zeros = internal addrspace(1) global [4 x i16] zeroinitializer, align 2
@last = addrspace(1) externally_initialized global i8 3, align 1
define void @k(ptr %out) {
  %old = atomicrmw add ptr addrspace(1) @count, i64 2 monotonic
  store i64 %old, ptr %out
  %third = getelementptr [4 x i16], ptr addrspace(1) @zeros, i64 0, i64 2
  store i16 -2, ptr addrspace(1) %third
  store i8 9, ptr addrspace(1) @last
  ret void
})");
    EXPECT_EQ(array_[0], 40U);
    EXPECT_TRUE(has_no_variables()) << ptx_;
}

TEST_P(PlacedGlobals, variables_that_hold_addresses_of_others_are_followed) {
    expect_same(R"(
@first = internal addrspace(4) constant i64 11
@second = internal addrspace(1) global [2 x i64] [i64 12, i64 13]
@table = addrspace(1) global [2 x ptr] [ptr addrspacecast (ptr addrspace(4) @first to ptr),
    ptr getelementptr (i64, ptr addrspacecast (ptr addrspace(1) @second to ptr), i64 1)]
@own = addrspace(4) constant { i64, ptr addrspace(4) } { i64 1, ptr addrspace(4) @first }
define void @k(ptr %out) {
  %zero = load volatile i64, ptr %out
  %entry = getelementptr [2 x ptr], ptr addrspace(1) @table, i64 0, i64 %zero
  %p = load ptr, ptr addrspace(1) %entry
  %a = load i64, ptr %p
  store i64 %a, ptr %out
  %entry1 = getelementptr ptr, ptr addrspace(1) %entry, i64 1
  %q = load ptr, ptr addrspace(1) %entry1
  %b = load i64, ptr %q
  store i64 77, ptr %q
  %out1 = getelementptr i64, ptr %out, i64 1
  store i64 %b, ptr %out1
  %member = getelementptr { i64, ptr addrspace(4) }, ptr addrspace(4) @own, i64 %zero, i32 1
  %r = load ptr addrspace(4), ptr addrspace(4) %member
  %c = load i64, ptr addrspace(4) %r
  %out2 = getelementptr i64, ptr %out, i64 2
  store i64 %c, ptr %out2
  ret void
})");
    EXPECT_EQ(array_[0], 11U);
    EXPECT_EQ(array_[1], 13U);
    EXPECT_EQ(array_[2], 11U);
}

TEST_P(PlacedGlobals, functions_take_and_give_pointers_to_constant_memory) {
    expect_same(R"(
@numbers = internal addrspace(4) constant [4 x i64] [i64 1, i64 2, i64 3, i64 4]
%pair = type { ptr addrspace(4), i64 }
define internal i64 @sum(ptr addrspace(4) %from, i64 %count) noinline {
  %done = icmp eq i64 %count, 0
  br i1 %done, label %end, label %more
more:
  %one = load i64, ptr addrspace(4) %from
  %next = getelementptr i64, ptr addrspace(4) %from, i64 1
  %left = sub i64 %count, 1
  %others = call i64 @sum(ptr addrspace(4) %next, i64 %left)
  %total = add i64 %one, %others
  ret i64 %total
end:
  ret i64 0
}
define internal %pair @second(%pair %given, i1 %forward) noinline {
  %p = extractvalue %pair %given, 0
  %next = getelementptr i64, ptr addrspace(4) %p, i64 1
  %chosen = select i1 %forward, ptr addrspace(4) %next, ptr addrspace(4) %p
  %result = insertvalue %pair %given, ptr addrspace(4) %chosen, 0
  ret %pair %result
}
define void @k(ptr %out) {
  %n = load volatile i64, ptr %out
  %count = add i64 %n, 4
  %a = call i64 @sum(ptr addrspace(4) @numbers, i64 %count)
  store i64 %a, ptr %out
  %local = alloca %pair
  store %pair { ptr addrspace(4) @numbers, i64 3 }, ptr %local
  %loaded = load %pair, ptr %local
  %forward = icmp eq i64 %n, 0
  %moved = call %pair @second(%pair %loaded, i1 %forward)
  %p = extractvalue %pair %moved, 0
  %b = load i64, ptr addrspace(4) %p
  %out1 = getelementptr i64, ptr %out, i64 1
  store i64 %b, ptr %out1
  ret void
})");
    EXPECT_EQ(array_[0], 10U);
    EXPECT_EQ(array_[1], 2U);
}

TEST_P(PlacedGlobals, memory_intrinsics_copy_from_constant_memory) {
    expect_same(R"(
@numbers = internal addrspace(4) constant [4 x i64] [i64 21, i64 22, i64 23, i64 24], align 16
declare void @llvm.memcpy.p0.p4.i64(ptr, ptr addrspace(4), i64, i1)
define void @k(ptr %out) {
  %n = load volatile i64, ptr %out
  %bytes = add i64 %n, 24
  call void @llvm.memcpy.p0.p4.i64(ptr align 8 %out, ptr addrspace(4) align 16 @numbers, i64 %bytes, i1 false)
  ret void
})");
    EXPECT_EQ(array_[2], 23U);
    EXPECT_EQ(array_[3], 0U);
}

TEST_P(PlacedGlobals, texts_that_are_only_printed_stay_in_the_module) {
    expect_same(R"(
@format = internal addrspace(4) constant [7 x i8] c"%d %s\0A\00"
@word = internal addrspace(4) constant [5 x i8] c"word\00"
@kept = internal addrspace(4) constant [5 x i8] c"kept\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %out) {
  %list = alloca { i32, ptr }
  store i32 5, ptr %list
  %second = getelementptr { i32, ptr }, ptr %list, i32 0, i32 1
  store ptr addrspacecast (ptr addrspace(4) @word to ptr), ptr %second
  %written = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @format to ptr), ptr %list)
  %n = load volatile i64, ptr %out
  %c = getelementptr i8, ptr addrspace(4) @kept, i64 %n
  %letter = load i8, ptr addrspace(4) %c
  %wide = zext i8 %letter to i64
  store i64 %wide, ptr %out
  ret void
})");
    EXPECT_EQ(printed_, "5 word\n");
    EXPECT_EQ(array_[0], static_cast<std::uint64_t>('k'));
    EXPECT_NE(ptx_.find("119, 111, 114, 100"), std::string::npos) << ptx_;  // "word"
    EXPECT_EQ(ptx_.find("107, 101, 112, 116"), std::string::npos) << ptx_;  // "kept"
}

// As clang writes CUDA C++: texts lie in the generic address space.
TEST_P(PlacedGlobals, printed_texts_of_the_generic_address_space_stay_in_the_module) {
    expect_same(R"(
@format = private unnamed_addr constant [7 x i8] c"%d %s\0A\00"
@word = private unnamed_addr constant [5 x i8] c"word\00"
declare i32 @vprintf(ptr, ptr)
define void @k(ptr %out) {
  %list = alloca { i32, ptr }
  store i32 5, ptr %list
  %second = getelementptr { i32, ptr }, ptr %list, i32 0, i32 1
  store ptr @word, ptr %second
  %written = call i32 @vprintf(ptr @format, ptr %list)
  ret void
})");
    EXPECT_EQ(printed_, "5 word\n");
    EXPECT_NE(ptx_.find("119, 111, 114, 100"), std::string::npos) << ptx_;  // "word"
}

TEST_P(PlacedGlobals, variables_with_debug_information_are_placed) {
    expect_same(execution::with_lines(execution::ir_image(R"(
@weights = addrspace(4) constant [3 x i64] [i64 5, i64 6, i64 7], align 8
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(4) @weights to ptr)],
    section "llvm.metadata"
define internal i64 @at(ptr addrspace(4) %from, i64 %i) noinline {
  %place = getelementptr i64, ptr addrspace(4) %from, i64 %i
  %value = load i64, ptr addrspace(4) %place
  ret i64 %value
}
define void @k(ptr %out) {
  %n = load volatile i64, ptr %out
  %value = call i64 @at(ptr addrspace(4) @weights, i64 %n)
  store i64 %value, ptr %out
  ret void
})")));
    EXPECT_EQ(array_[0], 5U);
}

TEST_P(PlacedGlobals, pointers_to_functions_mean_the_same_in_variables_and_in_memory) {
    expect_same(R"(
define internal i64 @twice(i64 %x) {
  %r = mul i64 %x, 2
  ret i64 %r
}
define internal i64 @next(i64 %x) {
  %r = add i64 %x, 1
  ret i64 %r
}
define internal void @nothing() {
  ret void
}
@functions = addrspace(1) global [3 x ptr] [ptr @nothing, ptr @twice, ptr @next]
define void @k(ptr %out) {
  %first = getelementptr [3 x ptr], ptr addrspace(1) @functions, i64 0, i64 1
  %f = load ptr, ptr addrspace(1) %first
  %a = call i64 %f(i64 21)
  store i64 %a, ptr %out
  %second = getelementptr [3 x ptr], ptr addrspace(1) @functions, i64 0, i64 2
  %g = load ptr, ptr addrspace(1) %second
  %b = call i64 %g(i64 %a)
  %out1 = getelementptr i64, ptr %out, i64 1
  store i64 %b, ptr %out1
  store ptr @next, ptr addrspace(1) %first
  %out2 = getelementptr i64, ptr %out, i64 2
  store ptr %f, ptr %out2
  %is_twice = icmp eq ptr %f, @twice
  %c = zext i1 %is_twice to i64
  %out3 = getelementptr i64, ptr %out, i64 3
  store i64 %c, ptr %out3
  ret void
})");
    EXPECT_EQ(array_[0], 42U);
    EXPECT_EQ(array_[1], 43U);
    EXPECT_EQ(array_[2], image::function_handle(0));
    EXPECT_EQ(array_[3], 1U);
    EXPECT_TRUE(has_no_variables()) << ptx_;
}

TEST_P(PlacedGlobals, structures_are_given_to_functions_behind_pointers) {
    expect_same(R"(
%pair = type { i64, i64 }
define internal void @sum(ptr %result, ptr byval(%pair) align 8 %p) {
  %second = getelementptr %pair, ptr %p, i64 0, i32 1
  %a = load i64, ptr %p
  %b = load i64, ptr %second
  %s = add i64 %a, %b
  store i64 %s, ptr %result
  store i64 0, ptr %p
  ret void
}
@function = addrspace(4) constant ptr @sum
define void @k(ptr %out) {
  %p = alloca %pair, align 8
  store i64 5, ptr %p
  %second = getelementptr %pair, ptr %p, i64 0, i32 1
  store i64 6, ptr %second
  %f = load ptr, ptr addrspace(4) @function
  call void %f(ptr %out, ptr byval(%pair) align 8 %p)
  %left = load i64, ptr %p
  %out1 = getelementptr i64, ptr %out, i64 1
  store i64 %left, ptr %out1
  ret void
})");
    EXPECT_EQ(array_[0], 11U);
    EXPECT_EQ(array_[1], 5U) << "the callee changed a copy";
}

}  // namespace
}  // namespace cudasim::gpu_backend
