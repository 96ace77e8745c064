// Debug information for hand-written NVVM IR, for tests of places and stops.
#pragma once

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {

/// The same image with debug information. The instructions of the first function are on lines 101,
/// 102, ..., those of the second on lines 201, 202, ... A local variable of the IR (alloca) with a
/// name is an int32 of the program.
inline image::KernelImage with_lines(const image::KernelImage& plain) {
    llvm::LLVMContext context;
    const auto bitcode = plain.bitcode();
    auto parsed = llvm::parseBitcodeFile({{bitcode.data(), bitcode.size()}, "image"}, context);
    EXPECT_TRUE(static_cast<bool>(parsed));
    llvm::Module& module = **parsed;
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    llvm::DIBuilder builder(module);
    llvm::DIFile* file = builder.createFile("kernel.py", "/work");
    builder.createCompileUnit(llvm::dwarf::DW_LANG_Python, file, "test", true, "", 0);
    auto* int32 = builder.createBasicType("int32", 32, llvm::dwarf::DW_ATE_signed);
    unsigned first = 0;
    for (llvm::Function& function : module) {
        if (function.isDeclaration()) continue;
        unsigned line = first += 100;
        auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
        auto* place = builder.createFunction(file, function.getName(), function.getName(), file, 1, type, 1,
                                             llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
        function.setSubprogram(place);
        for (llvm::Instruction& instruction : llvm::instructions(function))
            instruction.setDebugLoc(llvm::DILocation::get(context, ++line, 1, place));
        for (llvm::Instruction& instruction : function.getEntryBlock()) {
            auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
            if (!local || !local->hasName()) continue;
            builder.insertDeclare(local,
                                  builder.createAutoVariable(place, local->getName(), file, 1, int32, true),
                                  builder.createExpression(), local->getDebugLoc().get(),
                                  function.getEntryBlock().getTerminator());
        }
    }
    builder.finalize();
    return test_images::kept(image::KernelImage::from_module(module));
}

inline constexpr const char* kernel_file = "/work/kernel.py";

}  // namespace cudasim::execution
