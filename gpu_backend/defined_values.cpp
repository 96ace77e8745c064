#include "gpu_backend/defined_values.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <string>
#include <vector>

#include "simulator/image/defined_arithmetic.h"

namespace cudasim::gpu_backend {
namespace {

/// The letter of a register of this type in inline assembly (LLVM's NVPTX back end, "Inline assembly").
const char* register_letter(const llvm::Type& type) {
    if (type.isFloatTy()) return "f";
    if (type.isDoubleTy()) return "d";
    return type.isIntegerTy(16) ? "h" : type.isIntegerTy(32) ? "r" : "l";
}

/// PTX's name of a type: f32, s64, u16.
std::string ptx_type(const llvm::Type& type, bool is_signed) {
    if (type.isFloatTy()) return "f32";
    if (type.isDoubleTy()) return "f64";
    return (is_signed ? "s" : "u") + std::to_string(type.getIntegerBitWidth());
}

llvm::Value* convert(llvm::IRBuilder<>& builder, const char* rounding, llvm::Value* from, llvm::Type* to,
                     bool is_signed) {
    const std::string text = "cvt." + std::string(rounding) + "." + ptx_type(*to, is_signed) + "." +
                             ptx_type(*from->getType(), is_signed) + " $0, $1;";
    const std::string registers =
        std::string("=") + register_letter(*to) + "," + register_letter(*from->getType());
    auto* type = llvm::FunctionType::get(to, {from->getType()}, false);
    return builder.CreateCall(llvm::InlineAsm::get(type, text, registers, false), {from});
}

/// cvt.rzi saturates. Below 16 bits its result is cut, as the simulator does (simulator/jit/arithmetic.cpp);
/// LLVM takes the 16 bits for a number that fits.
void define_conversion(llvm::CastInst& conversion) {
    llvm::IRBuilder<> builder(&conversion);
    llvm::Value* source = conversion.getOperand(0);
    const unsigned width = std::max(16U, conversion.getType()->getIntegerBitWidth());
    if (width != 16 && width != 32 && width != 64) return;
    if (source->getType()->getScalarSizeInBits() == 16)
        source = builder.CreateFPExt(source, builder.getFloatTy());
    if (!source->getType()->isFloatTy() && !source->getType()->isDoubleTy()) return;
    llvm::Value* result =
        convert(builder, "rzi", source, builder.getIntNTy(width), llvm::isa<llvm::FPToSIInst>(conversion));
    conversion.replaceAllUsesWith(builder.CreateTrunc(result, conversion.getType()));
    conversion.eraseFromParent();
}

void define_division(llvm::BinaryOperator& division) {
    image::define_division_by_zero(division);
    if (division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::SRem)
        image::define_signed_overflow(division);
}

void define(llvm::Instruction& instruction) {
    if (auto* conversion = llvm::dyn_cast<llvm::CastInst>(&instruction))
        define_conversion(*conversion);
    else if (instruction.isShift())
        image::define_shift(llvm::cast<llvm::BinaryOperator>(instruction));
    else
        define_division(llvm::cast<llvm::BinaryOperator>(instruction));
}

bool needs_work(const llvm::Instruction& instruction) {
    return instruction.isShift() || llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst>(instruction) ||
           image::is_division(instruction);
}

/// llvm.nvvm.f2i.rz and its kind, which InstCombine makes casts of whose overflow is poison, and
/// llvm.nvvm.i2f.rz and its kind, which it makes casts of that round to nearest.
void define_calls(llvm::Module& module) {
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        llvm::StringRef name = function.getName();
        if (!name.consume_front("llvm.nvvm.") || !name.consume_back(".rz")) continue;
        const auto [from, to] = name.split('2');
        const auto is_real = [](llvm::StringRef part) { return part == "f" || part == "d"; };
        const auto is_integer = [](llvm::StringRef part) {
            return part == "i" || part == "ui" || part == "ll" || part == "ull";
        };
        const bool to_integer = is_real(from) && is_integer(to);
        if (!to_integer && !(is_integer(from) && is_real(to))) continue;
        const bool is_signed = !(to_integer ? to : from).starts_with("u");
        for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            if (!call || call->getCalledFunction() != &function) continue;
            llvm::IRBuilder<> builder(call);
            call->replaceAllUsesWith(convert(builder, to_integer ? "rzi" : "rz", call->getArgOperand(0),
                                             call->getType(), is_signed));
            call->eraseFromParent();
        }
    }
}

}  // namespace

void define_values(llvm::Module& module) {
    define_calls(module);
    for (llvm::Function& function : module) {
        std::vector<llvm::Instruction*> work;
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
            if (needs_work(instruction)) work.push_back(&instruction);
        }
        for (llvm::Instruction* instruction : work) {
            for (llvm::Instruction* part : image::scalarised(*instruction)) define(*part);
        }
    }
}

}  // namespace cudasim::gpu_backend
