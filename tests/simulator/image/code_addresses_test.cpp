#include "simulator/image/code_addresses.h"

#include <gtest/gtest.h>

namespace cudasim::image {
namespace {

KernelImage image_of(const std::string& body) {
    return KernelImage::from_ir_text("target datalayout = \"" + std::string(data_layout) +
                                     "\"\ntarget triple = \"" + std::string(target_triple) + "\"\n" + body +
                                     "\n!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n");
}

TEST(CodeAddresses, constants_are_found_in_expressions_functions_and_variables) {
    const auto image = image_of(R"(
@table = addrspace(1) global { i64, ptr } { i64 4294967296, ptr inttoptr (i64 35184372088848 to ptr) }
@list = addrspace(1) global [2 x i64] [i64 1, i64 35184372088864]
define internal i64 @f() {
  %v = load i64, ptr getelementptr (i8, ptr inttoptr (i64 35184372088832 to ptr), i64 8)
  ret i64 %v
}
define void @k(ptr %p) {
  %v = call i64 @f()
  %sum = add i64 %v, 35184372088832
  %more = add i64 %sum, 4294967295
  store i64 %more, ptr %p
  ret void
})");
    const std::vector<std::uint64_t> expected{4294967296, 35184372088832, 35184372088848, 35184372088864};
    EXPECT_EQ(wide_constants(image), expected);
    EXPECT_EQ(wide_constants(image), expected);  // remembered
}

TEST(CodeAddresses, images_are_told_apart) {
    const std::string kernel = "define void @k(ptr %p) {\n  store i64 NUMBER, ptr %p\n  ret void\n}";
    for (const std::uint64_t number : {7ULL, 35184372088832ULL, 35184372088833ULL}) {
        std::string text = kernel;
        text.replace(text.find("NUMBER"), 6, std::to_string(number));
        const std::vector<std::uint64_t> expected(number > 7 ? 1 : 0, number);
        EXPECT_EQ(wide_constants(image_of(text)), expected);
    }
}

}  // namespace
}  // namespace cudasim::image
