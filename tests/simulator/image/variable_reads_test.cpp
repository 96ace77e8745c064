// Reads of variables become one of their two values, and nothing of the other one stays.
#include "simulator/image/variable_reads.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace cudasim::image {
namespace {

const std::string declarations = R"(
declare i64 @__cudasim_variable.i64(i64, i64) memory(none) nounwind willreturn
declare double @__cudasim_variable.double(double, double) memory(none) nounwind willreturn
)";

std::unique_ptr<llvm::Module> parse(const std::string& text, llvm::LLVMContext& context) {
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(text, error, context);
    if (!module) throw std::runtime_error(error.getMessage().str());
    return module;
}

std::string text_of(const llvm::Module& module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
}

std::string resolved(const std::string& text, VariableReads reads) {
    llvm::LLVMContext context;
    const auto module = parse(text, context);
    EXPECT_EQ(resolve_variable_reads(*module, reads), nullptr);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    return text_of(*module);
}

/// As LLVM writes it.
std::string written(const std::string& text) {
    llvm::LLVMContext context;
    return text_of(*parse(text, context));
}

// x = 4; y = x * 0.5: the conversion of the constant is known, that of the variable is computed.
const std::string kernel = declarations + R"(
define double @k(ptr %x) {
  store i64 4, ptr %x
  %1 = load i64, ptr %x
  %2 = call i64 @__cudasim_variable.i64(i64 4, i64 %1)
  store i64 %2, ptr %x
  %3 = sitofp i64 %1 to double
  %4 = call double @__cudasim_variable.double(double 4.0, double %3)
  %5 = fmul double %4, 0.5
  ret double %5
}
)";

TEST(VariableReads, become_what_was_stored) {
    EXPECT_EQ(resolved(kernel, VariableReads::stored), written(R"(
define double @k(ptr %x) {
  store i64 4, ptr %x
  store i64 4, ptr %x
  %1 = fmul double 4.0, 0.5
  ret double %1
}
)"));
}

TEST(VariableReads, become_what_is_in_memory) {
    EXPECT_EQ(resolved(kernel, VariableReads::loaded), written(R"(
define double @k(ptr %x) {
  store i64 4, ptr %x
  %1 = load i64, ptr %x
  store i64 %1, ptr %x
  %2 = sitofp i64 %1 to double
  %3 = fmul double %2, 0.5
  ret double %3
}
)"));
}

TEST(VariableReads, of_reads_leave_nothing_behind) {
    const std::string nested = declarations + R"(
define i64 @k(ptr %x, ptr %y, i64 %given) {
  %1 = load i64, ptr %x
  %2 = call i64 @__cudasim_variable.i64(i64 %given, i64 %1)
  %3 = mul i64 %2, 3
  %4 = load i64, ptr %y
  %5 = mul i64 %4, 3
  %6 = mul i64 %given, 5
  %7 = call i64 @__cudasim_variable.i64(i64 %6, i64 %5)
  %8 = call i64 @__cudasim_variable.i64(i64 %3, i64 %7)
  ret i64 %8
}
)";
    EXPECT_EQ(resolved(nested, VariableReads::stored), written(R"(
define i64 @k(ptr %x, ptr %y, i64 %given) {
  %1 = mul i64 %given, 3
  ret i64 %1
}
)"));
    EXPECT_EQ(resolved(nested, VariableReads::loaded), written(R"(
define i64 @k(ptr %x, ptr %y, i64 %given) {
  %1 = load i64, ptr %y
  %2 = mul i64 %1, 3
  ret i64 %2
}
)"));
}

TEST(VariableReads, keep_what_has_effects_and_survive_code_that_is_never_reached) {
    const std::string odd = declarations + R"(
define i64 @k(ptr %x, i64 %given) {
  %1 = load volatile i64, ptr %x
  %2 = call i64 @__cudasim_variable.i64(i64 %given, i64 %1)
  ret i64 %2
never:
  %own = call i64 @__cudasim_variable.i64(i64 %own, i64 %other)
  %other = call i64 @__cudasim_variable.i64(i64 %own, i64 %other)
  br label %never
}
)";
    EXPECT_NE(resolved(odd, VariableReads::stored).find("load volatile"), std::string::npos);
    EXPECT_EQ(resolved(odd, VariableReads::loaded).find("__cudasim"), std::string::npos);
}

TEST(VariableReads, used_in_another_way_are_named) {
    for (const std::string use :
         {"declare i64 @__cudasim_variable.i64(i64)\ndefine void @k() {\n"
          "  %1 = call i64 @__cudasim_variable.i64(i64 0)\n  ret void\n}\n",
          "declare i64 @__cudasim_variable.i64(i64, i32)\ndefine void @k() {\n"
          "  %1 = call i64 @__cudasim_variable.i64(i64 0, i32 0)\n  ret void\n}\n",
          "declare void @__cudasim_variable.i64(i64, i64)\ndefine void @k() {\n"
          "  call void @__cudasim_variable.i64(i64 0, i64 0)\n  ret void\n}\n",
          "declare ptr @__cudasim_variable.ptr(ptr, ptr)\ndefine void @k() {\n"
          "  %1 = call ptr @__cudasim_variable.ptr(ptr null, ptr @__cudasim_variable.ptr)\n  ret void\n}\n",
          "declare i64 @__cudasim_variable.i64(i64, i64)\ndefine void @k(ptr %x) {\n"
          "  store ptr @__cudasim_variable.i64, ptr %x\n  ret void\n}\n"}) {
        llvm::LLVMContext context;
        const auto module = parse(use, context);
        const llvm::User* wrong = resolve_variable_reads(*module, VariableReads::stored);
        ASSERT_NE(wrong, nullptr) << use;
        EXPECT_TRUE(llvm::isa<llvm::Instruction>(wrong));
    }
}

}  // namespace
}  // namespace cudasim::image
