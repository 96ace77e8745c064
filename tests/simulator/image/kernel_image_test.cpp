// KernelImage: what it derives from NVVM IR, and that it refuses everything that is not an image.

#include "simulator/image/kernel_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace cudasim::image {
namespace {

const std::string header = R"(target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
)";

const std::string two_kernels = header + R"(
%pair = type { i8, double }
define void @scale(ptr addrspace(1) %data, i8 %flag, double %factor, i16 %n) {
  ret void
}
define void @by_value(i32 %first, ptr byval(%pair) align 8 %second, i8 %third) {
  ret void
}
define internal void @device_function(i32 %x) {
  ret void
}
define ptx_kernel void @by_convention() {
  ret void
}
!nvvm.annotations = !{!0, !1, !2}
!0 = !{ptr @scale, !"kernel", i32 1}
!1 = !{ptr @by_value, !"maxntidx", i32 128, !"kernel", i32 1}
!2 = !{ptr @device_function, !"kernel", i32 0}
)";

/// The message of the ImageError that `action` throws; fails the test when it throws none.
template <typename Action>
std::string refusal(Action action) {
    try {
        action();
    } catch (const ImageError& error) {
        return error.what();
    }
    ADD_FAILURE() << "no ImageError";
    return {};
}

std::string refusal_of_text(const std::string& text) {
    return refusal([&] { (void)KernelImage::from_ir_text(text); });
}

TEST(KernelImage, finds_kernels_by_annotation_and_by_calling_convention) {
    const auto image = KernelImage::from_ir_text(two_kernels);
    std::vector<std::string> names;
    for (const auto& kernel : image.kernels()) names.push_back(kernel.name);
    EXPECT_EQ(names, (std::vector<std::string>{"scale", "by_value", "by_convention"}));
    EXPECT_EQ(image.find("device_function"), nullptr);
    EXPECT_EQ(image.find("by_convention")->parameter_bytes, 0u);
}

TEST(KernelImage, lays_out_parameters_at_their_natural_alignment) {
    const auto image = KernelImage::from_ir_text(two_kernels);
    const Kernel expected{
        "scale", {{"data", 0, 8, 8}, {"flag", 8, 1, 1}, {"factor", 16, 8, 8}, {"n", 24, 2, 2}}, 26};
    EXPECT_EQ(*image.find("scale"), expected);
}

TEST(KernelImage, passes_byval_parameters_by_value) {
    const auto image = KernelImage::from_ir_text(two_kernels);
    const Kernel expected{"by_value", {{"first", 0, 4, 4}, {"second", 8, 16, 8}, {"third", 24, 1, 1}}, 25};
    EXPECT_EQ(*image.find("by_value"), expected);
}

TEST(KernelImage, hash_depends_on_bitcode_and_sources) {
    const auto image = KernelImage::from_ir_text(two_kernels);
    EXPECT_EQ(image.hash().size(), 64u);
    EXPECT_EQ(image.hash(), KernelImage::from_bitcode(image.bitcode()).hash());
    EXPECT_NE(image.hash(), KernelImage::from_bitcode(image.bitcode(), {{"a.py", "x = 1"}}).hash());
    EXPECT_NE(KernelImage::from_bitcode(image.bitcode(), {{"a", "bc"}}).hash(),
              KernelImage::from_bitcode(image.bitcode(), {{"ab", "c"}}).hash());
}

TEST(KernelImage, serialised_form_comes_back_equal) {
    const auto image =
        KernelImage::from_ir_text(two_kernels, {{"scale.py", "def scale():\n"}, {"empty.py", ""}});
    const auto copy = KernelImage::deserialise(image.serialise());
    EXPECT_EQ(copy.hash(), image.hash());
    EXPECT_EQ(copy.serialise(), image.serialise());
    EXPECT_EQ(copy.sources(), image.sources());
    EXPECT_EQ(copy.kernels(), image.kernels());
}

TEST(KernelImage, a_programs_own_form_comes_back_equal_without_being_parsed) {
    const auto image = KernelImage::from_ir_text(two_kernels, {{"scale.py", "def scale():\n"}});
    const auto bytes = image.serialise_own();
    const auto copy = KernelImage::deserialise_own(bytes);
    EXPECT_EQ(copy.hash(), image.hash());
    EXPECT_EQ(copy.serialise_own(), bytes);
    EXPECT_EQ(copy.sources(), image.sources());
    EXPECT_EQ(copy.kernels(), image.kernels());
    EXPECT_EQ(copy.bitcode(), image.bitcode());
    EXPECT_EQ(copy.functions_with_address(), image.functions_with_address());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        ASSERT_THROW((void)KernelImage::deserialise_own(std::span(bytes).first(size)), ImageError) << size;
}

TEST(KernelImage, knows_the_functions_whose_address_is_taken) {
    const auto image = KernelImage::from_ir_text(R"(
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(1) global [1 x ptr] [ptr @in_table]
@llvm.used = appending global [1 x ptr] [ptr @only_used], section "llvm.metadata"
define void @called() { ret void }
define void @stored() { ret void }
define void @in_table() { ret void }
define void @only_used() { ret void }
define ptx_kernel void @k(ptr %out) {
  call void @called()
  store ptr @stored, ptr %out
  ret void
}
)");
    ASSERT_TRUE(image.functions_with_address());
    EXPECT_EQ(*image.functions_with_address(), (std::vector<std::string>{"stored", "in_table"}));
}

TEST(KernelImage, text_form_parses_again) {
    const auto image = KernelImage::from_ir_text(two_kernels);
    EXPECT_EQ(KernelImage::from_ir_text(image.ir_text()).kernels(), image.kernels());
}

TEST(KernelImage, every_truncation_of_the_serialised_form_is_refused) {
    const auto bytes = KernelImage::from_ir_text(two_kernels, {{"a.py", "text"}}).serialise();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        ASSERT_THROW((void)KernelImage::deserialise(std::span(bytes).first(size)), ImageError) << size;
    }
}

TEST(KernelImage, every_changed_byte_of_the_serialised_form_is_refused) {
    const auto bytes = KernelImage::from_ir_text(two_kernels).serialise();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto changed = bytes;
        changed[i] ^= std::byte{0x10};
        ASSERT_THROW((void)KernelImage::deserialise(changed), ImageError) << i;
    }
}

TEST(KernelImage, bytes_after_the_end_are_refused) {
    auto bytes = KernelImage::from_ir_text(two_kernels).serialise();
    bytes.push_back(std::byte{0});
    EXPECT_THROW((void)KernelImage::deserialise(bytes), ImageError);
}

TEST(KernelImage, another_version_is_refused_by_number) {
    auto bytes = KernelImage::from_ir_text(two_kernels).serialise();
    bytes[8] = std::byte{7};
    const auto message = refusal([&] { (void)KernelImage::deserialise(bytes); });
    EXPECT_NE(message.find("version 7"), std::string::npos) << message;
}

TEST(KernelImage, garbage_is_refused_and_not_printed) {
    std::mt19937 random(20);
    testing::internal::CaptureStderr();
    for (int round = 0; round < 200; ++round) {
        std::string garbage(random() % 300, '\0');
        for (char& c : garbage) c = static_cast<char>(random());
        if (round % 2 == 1) garbage.insert(0, "BC\xC0\xDE");
        ASSERT_THROW((void)KernelImage::from_bitcode(garbage), ImageError) << round;
        ASSERT_THROW((void)KernelImage::from_ir_text(garbage.empty() ? "?" : garbage), ImageError) << round;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(KernelImage, truncated_bitcode_is_refused) {
    const auto bitcode = KernelImage::from_ir_text(two_kernels).bitcode();
    for (std::size_t size = 0; size < bitcode.size(); size += 4) {
        ASSERT_THROW((void)KernelImage::from_bitcode(bitcode.substr(0, size)), ImageError) << size;
    }
}

TEST(KernelImage, a_syntax_error_names_line_and_column) {
    const auto message = refusal_of_text(header + "define void @k() {\n  ret nothing\n}\n");
    EXPECT_NE(message.find("line 4, column 7"), std::string::npos) << message;
}

TEST(KernelImage, a_module_for_another_target_is_refused) {
    const auto message = refusal_of_text("target triple = \"x86_64-pc-linux-gnu\"\n");
    EXPECT_NE(message.find("x86_64-pc-linux-gnu"), std::string::npos) << message;
    EXPECT_NE(refusal_of_text("target triple = \"nvptx64-nvidia-cuda\"\n").find("data layout"),
              std::string::npos);
}

TEST(KernelImage, kernels_that_cannot_be_launched_are_refused_by_name) {
    const std::string annotation = "!nvvm.annotations = !{!0}\n!0 = !{ptr @wrong, !\"kernel\", i32 1}\n";
    for (const std::string function : {"define i32 @wrong() { ret i32 0 }\n", "declare void @wrong()\n",
                                       "define void @wrong(i32 %a, ...) { ret void }\n",
                                       "define void @wrong(ptr sret(i32) %a) { ret void }\n"}) {
        const auto message = refusal_of_text(header + function + annotation);
        EXPECT_NE(message.find("'wrong'"), std::string::npos) << message;
    }
}

TEST(KernelImage, a_module_that_breaks_the_rules_of_llvm_is_refused) {
    const auto message = refusal_of_text(header + R"(
define void @k(i1 %c) {
  br i1 %c, label %a, label %b
a:
  %v = add i32 1, 2
  br label %b
b:
  %w = add i32 %v, 1
  ret void
})");
    EXPECT_NE(message.find("dominate"), std::string::npos) << message;
}

}  // namespace
}  // namespace cudasim::image
