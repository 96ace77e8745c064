// See cache_hints.h.
#include "gpu_backend/cache_hints.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <string>

namespace cudasim::gpu_backend {
namespace {

constexpr llvm::StringRef operators[] = {"ca", "cg", "cs", "lu", "cv", "wb", "wt"};

/// The register that holds a value of so many bits: PTX has none of 8.
const char* constraint(unsigned bits) {
    return bits == 64 ? "l" : bits == 32 ? "r" : "h";
}

llvm::Type* register_type(llvm::IRBuilder<>& builder, unsigned bits) {
    return builder.getIntNTy(bits == 8 ? 16 : bits);
}

std::string instruction(const char* operation, llvm::StringRef hint, unsigned bits) {
    return std::string(operation) + ".global." + hint.str() + ".b" + std::to_string(bits) + " ";
}

llvm::Value* address_of(llvm::IRBuilder<>& builder, llvm::Value* pointer) {
    auto* global = builder.CreateAddrSpaceCast(pointer, builder.getPtrTy(1));
    return builder.CreatePtrToInt(global, builder.getInt64Ty());
}

void lower_load(llvm::LoadInst& load, llvm::StringRef hint) {
    llvm::IRBuilder<> builder(&load);
    const unsigned bits = load.getType()->getPrimitiveSizeInBits();
    llvm::Type* held = register_type(builder, bits);
    auto* type = llvm::FunctionType::get(held, {builder.getInt64Ty()}, false);
    auto* assembly =
        llvm::InlineAsm::get(type, instruction("ld", hint, bits) + "$0, [$1];",
                             "=" + std::string(constraint(bits)) + ",l,~{memory}", /*hasSideEffects=*/true);
    llvm::Value* value = builder.CreateCall(type, assembly, {address_of(builder, load.getPointerOperand())});
    value = builder.CreateTrunc(value, builder.getIntNTy(bits));
    load.replaceAllUsesWith(builder.CreateBitCast(value, load.getType()));
    load.eraseFromParent();
}

void lower_store(llvm::StoreInst& store, llvm::StringRef hint) {
    llvm::IRBuilder<> builder(&store);
    llvm::Value* value = store.getValueOperand();
    const unsigned bits = value->getType()->getPrimitiveSizeInBits();
    llvm::Type* held = register_type(builder, bits);
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty(), held}, false);
    auto* assembly =
        llvm::InlineAsm::get(type, instruction("st", hint, bits) + "[$0], $1;",
                             "l," + std::string(constraint(bits)) + ",~{memory}", /*hasSideEffects=*/true);
    value = builder.CreateZExt(builder.CreateBitCast(value, builder.getIntNTy(bits)), held);
    builder.CreateCall(type, assembly, {address_of(builder, store.getPointerOperand()), value});
    store.eraseFromParent();
}

}  // namespace

void lower_cache_hints(llvm::Module& module) {
    for (auto& function : module) {
        for (auto& access : llvm::make_early_inc_range(llvm::instructions(function))) {
            const auto* mark = access.getMetadata("cudasim.cache");
            if (!mark || mark->getNumOperands() != 1) continue;
            const auto* text = llvm::dyn_cast<llvm::MDString>(mark->getOperand(0));
            if (!text || !llvm::is_contained(operators, text->getString())) continue;
            if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&access))
                lower_load(*load, text->getString());
            else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&access))
                lower_store(*store, text->getString());
        }
    }
}

}  // namespace cudasim::gpu_backend
