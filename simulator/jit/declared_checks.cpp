// Expands the checks that front ends declare (simulator/image/checks.def).
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

enum class Check {
#define CHECK(identifier, symbol, type, gpu) identifier,
#include "simulator/image/checks.def"
#undef CHECK
};

struct Row {
    Check check;
    const char* symbol;
};

constexpr Row rows[] = {
#define CHECK(identifier, symbol, type, gpu) {Check::identifier, symbol},
#include "simulator/image/checks.def"
#undef CHECK
};

/// The failing side of an index check: what the source said, before wrapping.
void emit_index_fault(IRBuilder<>& builder, const CallInst& check) {
    call_hook(builder, Hook::index_fault,
              {check.getArgOperand(0), check.getArgOperand(1), check.getArgOperand(2)});
    builder.CreateUnreachable();
}

/// 0 <= index < size goes straight on; else index is negative and index + size must be in range.
///
///     block ──likely──────────────► done (phi)
///       └─► negative ─► wrap ──────┘
///              └─────────┴──► fault
void expand_check_index(CallInst& check) {
    Value* index = check.getArgOperand(0);
    Value* size = check.getArgOperand(1);
    BasicBlock* block = check.getParent();
    BasicBlock* done = block->splitBasicBlock(&check, "index.ok");
    block->getTerminator()->eraseFromParent();
    auto& context = check.getContext();
    Function* function = block->getParent();
    auto* negative = BasicBlock::Create(context, "index.negative", function, done);
    auto* wrap = BasicBlock::Create(context, "index.wrap", function, done);
    auto* fault = BasicBlock::Create(context, "index.fault", function);
    auto* likely = MDBuilder(context).createLikelyBranchWeights();
    IRBuilder<> builder(block);
    builder.SetCurrentDebugLocation(check.getDebugLoc());
    builder.CreateCondBr(builder.CreateICmpULT(index, size), done, negative, likely);
    builder.SetInsertPoint(negative);
    builder.CreateCondBr(builder.CreateICmpSLT(index, builder.getInt64(0)), wrap, fault, likely);
    builder.SetInsertPoint(wrap);
    Value* wrapped = builder.CreateAdd(index, size);
    builder.CreateCondBr(builder.CreateICmpULT(wrapped, size), done, fault, likely);
    builder.SetInsertPoint(fault);
    emit_index_fault(builder, check);
    builder.SetInsertPoint(done, done->begin());
    auto* result = builder.CreatePHI(builder.getInt64Ty(), 2, "index");
    result->addIncoming(index, block);
    result->addIncoming(wrapped, wrap);
    check.replaceAllUsesWith(result);
}

void expand_check_unsigned_index(CallInst& check) {
    IRBuilder<> builder(&check);
    Value* bad = builder.CreateICmpUGE(check.getArgOperand(0), check.getArgOperand(1));
    Instruction* cold = branch_cold(bad, &check, false);
    builder.SetInsertPoint(cold);
    builder.SetCurrentDebugLocation(check.getDebugLoc());
    emit_index_fault(builder, check);
    cold->eraseFromParent();
    check.replaceAllUsesWith(check.getArgOperand(0));
}

void expand_check_float_division(CallInst& check) {
    IRBuilder<> builder(branch_cold(check.getArgOperand(0), &check, true));
    builder.SetCurrentDebugLocation(check.getDebugLoc());
    call_hook(builder, Hook::float_division, {});
}

void expand_raise(CallInst& check, const Compilation& compilation) {
    const auto* exception = dyn_cast<ConstantInt>(check.getArgOperand(0));
    if (!exception || exception->getZExtValue() >= compilation.exceptions.size()) {
        refuse(check, "__cudasim_raise names no entry of !cudasim.exceptions");
    }
    IRBuilder<> builder(&check);
    call_hook(builder, Hook::raise, {check.getArgOperand(0)});
}

bool has_declared_type(const CallInst& check, Check kind) {
    auto& context = check.getContext();
    Type* i64 = Type::getInt64Ty(context);
    Type* i32 = Type::getInt32Ty(context);
    Type* none = Type::getVoidTy(context);
    FunctionType* expected = nullptr;
    switch (kind) {
        case Check::check_index:
        case Check::check_unsigned_index:
            expected = FunctionType::get(i64, {i64, i64, i32}, false);
            break;
        case Check::check_float_division:
            expected = FunctionType::get(none, {Type::getInt1Ty(context)}, false);
            break;
        case Check::raise:
            expected = FunctionType::get(none, {i32}, false);
            break;
    }
    return check.getFunctionType() == expected;
}

void expand(CallInst& check, Check kind, const Compilation& compilation) {
    if (!has_declared_type(check, kind)) {
        refuse(check, "'" + check.getCalledFunction()->getName().str() +
                          "' is called with a type of its own; " + "see simulator/image/checks.def");
    }
    switch (kind) {
        case Check::check_index:
            expand_check_index(check);
            break;
        case Check::check_unsigned_index:
            expand_check_unsigned_index(check);
            break;
        case Check::check_float_division:
            expand_check_float_division(check);
            break;
        case Check::raise:
            expand_raise(check, compilation);
            break;
    }
    check.eraseFromParent();
}

}  // namespace

void expand_declared_checks(Compilation& compilation) {
    for (const Row& row : rows) {
        Function* declaration = compilation.module->getFunction(row.symbol);
        if (!declaration) continue;
        for (User* user : make_early_inc_range(declaration->users())) {
            expand(*cast<CallInst>(user), row.check, compilation);
        }
        declaration->eraseFromParent();
    }
}

}  // namespace cudasim::jit
