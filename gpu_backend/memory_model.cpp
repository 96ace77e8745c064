// See memory_model.h.
#include "gpu_backend/memory_model.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>

#include "simulator/image/sync_scopes.h"

namespace cudasim::gpu_backend {
namespace {

using image::Scope;
using llvm::AtomicRMWInst;

// Orders ----------------------------------------------------------------------------------------------------

/// PTX ISA, "membar": the level is the scope. A fence's order does not matter to it: membar is sequentially
/// consistent. There is no level for clusters.
void fence(llvm::IRBuilder<>& builder, Scope scope) {
    if (scope == Scope::thread) return;
    const auto level = scope == Scope::block    ? llvm::Intrinsic::nvvm_membar_cta
                       : scope == Scope::system ? llvm::Intrinsic::nvvm_membar_sys
                                                : llvm::Intrinsic::nvvm_membar_gl;
    builder.CreateIntrinsic(level, {}, {});
}

llvm::AtomicOrdering order_of(const llvm::Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->getOrdering();
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->getOrdering();
    if (const auto* change = llvm::dyn_cast<AtomicRMWInst>(&instruction)) return change->getOrdering();
    if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
        return exchange->getMergedOrdering();
    return llvm::AtomicOrdering::NotAtomic;
}

void relax(llvm::Instruction& instruction) {
    constexpr auto relaxed = llvm::AtomicOrdering::Monotonic;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) load->setOrdering(relaxed);
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) store->setOrdering(relaxed);
    if (auto* change = llvm::dyn_cast<AtomicRMWInst>(&instruction)) change->setOrdering(relaxed);
    if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
        exchange->setSuccessOrdering(relaxed);
        exchange->setFailureOrdering(relaxed);
    }
}

/// LLVM 19's NVPTX back end has no pattern for `fence`, none for loads that acquire and stores that release,
/// and leaves orders out of other atomic operations: fences around relaxed ones say the same.
void lower_order(llvm::Instruction& instruction) {
    llvm::IRBuilder<> builder(&instruction);
    const Scope scope = image::scope_of(instruction);
    if (llvm::isa<llvm::FenceInst>(instruction)) {
        fence(builder, scope);
        instruction.eraseFromParent();
        return;
    }
    const llvm::AtomicOrdering order = order_of(instruction);
    if (!llvm::isStrongerThanMonotonic(order)) return;
    if (llvm::isReleaseOrStronger(order)) fence(builder, scope);
    builder.SetInsertPoint(instruction.getNextNode());
    if (llvm::isAcquireOrStronger(order)) fence(builder, scope);
    relax(instruction);
}

// Scopes ----------------------------------------------------------------------------------------------------

/// ".cta" or ".sys"; nothing for the device, which is what LLVM writes.
const char* qualifier_of(Scope scope) {
    if (scope == Scope::system) return ".sys";
    return scope <= Scope::block ? ".cta" : nullptr;
}

/// ".add.u32", where PTX has the operation on this type. Negative operands are the caller's business.
std::optional<std::string> operation_of(AtomicRMWInst::BinOp operation, llvm::Type* type) {
    const unsigned bits = type->getPrimitiveSizeInBits();
    if (bits != 32 && bits != 64) return std::nullopt;
    const std::string width = std::to_string(bits);
    switch (operation) {
        case AtomicRMWInst::Xchg:
            return ".exch.b" + width;
        case AtomicRMWInst::Add:
        case AtomicRMWInst::Sub:
            return ".add.u" + width;
        case AtomicRMWInst::And:
            return ".and.b" + width;
        case AtomicRMWInst::Or:
            return ".or.b" + width;
        case AtomicRMWInst::Xor:
            return ".xor.b" + width;
        case AtomicRMWInst::Max:
            return ".max.s" + width;
        case AtomicRMWInst::Min:
            return ".min.s" + width;
        case AtomicRMWInst::UMax:
            return ".max.u" + width;
        case AtomicRMWInst::UMin:
            return ".min.u" + width;
        case AtomicRMWInst::FAdd:
        case AtomicRMWInst::FSub:
            return type->isFloatTy() || type->isDoubleTy() ? std::optional(".add.f" + width) : std::nullopt;
        case AtomicRMWInst::UIncWrap:
            return bits == 32 ? std::optional<std::string>(".inc.u32") : std::nullopt;
        case AtomicRMWInst::UDecWrap:
            return bits == 32 ? std::optional<std::string>(".dec.u32") : std::nullopt;
        default:
            return std::nullopt;
    }
}

/// ".global", ".shared"; empty for generic addresses.
const char* space_of(const llvm::Value* pointer) {
    const unsigned space = pointer->getType()->getPointerAddressSpace();
    return space == 1 ? ".global" : space == 3 ? ".shared" : "";
}

/// atom.<scope><space><operation> result, [address], operands. Values are passed as integers,
/// or as the floats that add has.
llvm::Value* emit_atom(llvm::IRBuilder<>& builder, const std::string& operation, llvm::Value* pointer,
                       llvm::ArrayRef<llvm::Value*> operands) {
    llvm::Type* type = operands[0]->getType();
    const char* constraint = type->isFloatTy()       ? "f"
                             : type->isDoubleTy()    ? "d"
                             : type->isIntegerTy(64) ? "l"
                                                     : "r";
    std::string text = "atom" + operation.substr(0, operation.find('.', 1)) + space_of(pointer) +
                       operation.substr(operation.find('.', 1)) + " $0, [$1]";
    std::string constraints = "=" + std::string(constraint) + ",l";
    llvm::SmallVector<llvm::Value*, 3> arguments{builder.CreatePtrToInt(pointer, builder.getInt64Ty())};
    llvm::SmallVector<llvm::Type*, 3> types{builder.getInt64Ty()};
    for (llvm::Value* operand : operands) {
        text += ", $" + std::to_string(arguments.size() + 1);
        constraints += "," + std::string(constraint);
        arguments.push_back(operand);
        types.push_back(type);
    }
    auto* signature = llvm::FunctionType::get(type, types, false);
    auto* assembly =
        llvm::InlineAsm::get(signature, text + ";", constraints + ",~{memory}", /*hasSideEffects=*/true);
    return builder.CreateCall(signature, assembly, arguments);
}

/// A value that is no float of add as an integer of its width.
llvm::Value* as_bits(llvm::IRBuilder<>& builder, llvm::Value* value) {
    llvm::Type* bits = builder.getIntNTy(value->getType()->getPrimitiveSizeInBits());
    return builder.CreateBitCast(value, bits);
}

/// False where the device's scope has to do.
bool lower_scope(AtomicRMWInst& update) {
    const char* qualifier = qualifier_of(image::scope_of(update));
    const auto operation = operation_of(update.getOperation(), update.getType());
    if (!qualifier || !operation) return false;
    llvm::IRBuilder<> builder(&update);
    llvm::Value* operand = update.getValOperand();
    if (update.getOperation() == AtomicRMWInst::Sub) operand = builder.CreateNeg(operand);
    if (update.getOperation() == AtomicRMWInst::FSub) operand = builder.CreateFNeg(operand);
    if (update.getOperation() == AtomicRMWInst::Xchg) operand = as_bits(builder, operand);
    llvm::Value* old = emit_atom(builder, qualifier + *operation, update.getPointerOperand(), {operand});
    update.replaceAllUsesWith(builder.CreateBitCast(old, update.getType()));
    update.eraseFromParent();
    return true;
}

void lower_scope(llvm::AtomicCmpXchgInst& exchange) {
    const char* qualifier = qualifier_of(image::scope_of(exchange));
    llvm::Type* type = exchange.getNewValOperand()->getType();
    if (!qualifier || !(type->isIntegerTy(32) || type->isIntegerTy(64))) return;
    const std::string operation = ".cas.b" + std::to_string(type->getIntegerBitWidth());
    llvm::IRBuilder<> builder(&exchange);
    llvm::Value* expected = exchange.getCompareOperand();
    llvm::Value* old = emit_atom(builder, qualifier + operation, exchange.getPointerOperand(),
                                 {expected, exchange.getNewValOperand()});
    llvm::Value* pair = builder.CreateInsertValue(llvm::PoisonValue::get(exchange.getType()), old, 0);
    pair = builder.CreateInsertValue(pair, builder.CreateICmpEQ(old, expected), 1);
    exchange.replaceAllUsesWith(pair);
    exchange.eraseFromParent();
}

/// PTX ISA, "ld": the scope of a relaxed load or store. Clusters have one from sm_90 on.
std::string relaxed_scope(Scope scope) {
    if (scope == Scope::system) return ".relaxed.sys";
    return scope <= Scope::block ? ".relaxed.cta" : ".relaxed.gpu";
}

/// Atomic loads and stores, which LLVM 19 makes volatile ones: whoever reads the PTX sees that they are
/// atomic. ld.relaxed and st.relaxed exist from sm_70 on.
void lower_relaxed(llvm::Instruction& instruction) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (!(load && load->isAtomic()) && !(store && store->isAtomic())) return;
    llvm::Type* type = llvm::getLoadStoreType(&instruction);
    const unsigned bits = type->getPrimitiveSizeInBits();  // 0: of a pointer
    if (bits != 32 && bits != 64) return;
    llvm::IRBuilder<> builder(&instruction);
    llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer))) return;  // no other thread's memory
    llvm::Type* word = builder.getIntNTy(bits);
    const std::string letter = bits == 64 ? "l" : "r";
    const std::string what =
        relaxed_scope(image::scope_of(instruction)) + space_of(pointer) + ".b" + std::to_string(bits);
    llvm::Value* address = builder.CreatePtrToInt(pointer, builder.getInt64Ty());
    if (load) {
        auto* signature = llvm::FunctionType::get(word, {builder.getInt64Ty()}, false);
        auto* assembly = llvm::InlineAsm::get(signature, "ld" + what + " $0, [$1];",
                                              "=" + letter + ",l,~{memory}", /*hasSideEffects=*/true);
        llvm::Value* value = builder.CreateCall(signature, assembly, {address});
        load->replaceAllUsesWith(builder.CreateBitCast(value, type));
    } else {
        auto* signature = llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty(), word}, false);
        auto* assembly = llvm::InlineAsm::get(signature, "st" + what + " [$0], $1;",
                                              "l," + letter + ",~{memory}", /*hasSideEffects=*/true);
        builder.CreateCall(signature, assembly,
                           {address, builder.CreateBitCast(store->getValueOperand(), word)});
    }
    instruction.eraseFromParent();
}

/// atom.inc and atom.dec (PTX ISA, "atom") wrap as LLVM's updates do, which LLVM 19 lowers to loops.
void lower_wrapping_update(AtomicRMWInst& update) {
    if (!update.getType()->isIntegerTy(32)) return;
    const bool up = update.getOperation() == AtomicRMWInst::UIncWrap;
    if (!up && update.getOperation() != AtomicRMWInst::UDecWrap) return;
    llvm::IRBuilder<> builder(&update);
    const llvm::Intrinsic::ID id =
        up ? llvm::Intrinsic::nvvm_atomic_load_inc_32 : llvm::Intrinsic::nvvm_atomic_load_dec_32;
    update.replaceAllUsesWith(builder.CreateIntrinsic(id, {update.getPointerOperand()->getType()},
                                                      {update.getPointerOperand(), update.getValOperand()}));
    update.eraseFromParent();
}

}  // namespace

void lower_memory_model(llvm::Module& module, unsigned architecture) {
    const bool scopes = architecture >= 60, relaxed = architecture >= 70;
    for (auto& function : module)
        for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(function)))
            lower_order(instruction);
    for (auto& function : module) {
        for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
            if (auto* update = llvm::dyn_cast<AtomicRMWInst>(&instruction)) {
                if (!scopes || !lower_scope(*update)) lower_wrapping_update(*update);
            } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
                if (scopes) lower_scope(*exchange);
            } else if (relaxed) {
                lower_relaxed(instruction);
            }
        }
    }
}

}  // namespace cudasim::gpu_backend
