// Expands the checks that front ends declare (simulator/image/checks.def): one Expansion for each row of that
// table, and no compilation without it.
#include "simulator/image/declared_checks.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/source_places.h"
#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

enum class Check {
#define CHECK(identifier, symbol, type, gpu) identifier,
#include "simulator/image/checks.def"
#undef CHECK
};

/// How calls of a check become inline code. A row of checks.def that has none here does not compile.
template <Check>
struct Expansion;

/// The failing side of an index check: what the source said, before wrapping.
void emit_index_fault(IRBuilder<>& builder, const CallInst& check, bool is_unsigned) {
    call_hook(builder, Hook::index_fault,
              {check.getArgOperand(0), check.getArgOperand(1), check.getArgOperand(2),
               builder.getInt32(is_unsigned)});
    builder.CreateUnreachable();
}

/// 0 <= index < size goes straight on; else index is negative and index + size must be in range.
///
///     block ──likely──────────────────────────► done (phi)
///       └─► negative ─► wrap ─► (wrapped ─►)───┘
///              └─────────┴──► fault
///
/// `wrapped` tells the engine, where the launch asks for that.
template <>
struct Expansion<Check::check_index> {
    static void expand(CallInst& check, const Compilation& compilation) {
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
        BasicBlock* wraps = wrap;
        auto* in_range = builder.CreateCondBr(builder.CreateICmpULT(wrapped, size), done, fault, likely);
        if (compilation.options.wrap_checks && !check.hasMetadata(image::meant_mark)) {
            wraps = BasicBlock::Create(context, "index.wrapped", function, done);
            in_range->setSuccessor(0, wraps);
            builder.SetInsertPoint(wraps);
            call_hook(builder, Hook::index_wraps, {index, size, check.getArgOperand(2)});
            builder.CreateBr(done);
        }
        builder.SetInsertPoint(fault);
        emit_index_fault(builder, check, false);
        builder.SetInsertPoint(done, done->begin());
        auto* result = builder.CreatePHI(builder.getInt64Ty(), 2, "index");
        result->addIncoming(index, block);
        result->addIncoming(wrapped, wraps);
        check.replaceAllUsesWith(result);
    }
};

template <>
struct Expansion<Check::check_unsigned_index> {
    static void expand(CallInst& check, const Compilation&) {
        IRBuilder<> builder(&check);
        Value* bad = builder.CreateICmpUGE(check.getArgOperand(0), check.getArgOperand(1));
        Instruction* cold = branch_cold(bad, &check, false);
        builder.SetInsertPoint(cold);
        builder.SetCurrentDebugLocation(check.getDebugLoc());
        emit_index_fault(builder, check, true);
        cold->eraseFromParent();
        check.replaceAllUsesWith(check.getArgOperand(0));
    }
};

template <>
struct Expansion<Check::check_float_division> {
    static void expand(CallInst& check, const Compilation&) {
        IRBuilder<> builder(branch_cold(check.getArgOperand(0), &check, true));
        builder.SetCurrentDebugLocation(check.getDebugLoc());
        call_hook(builder, Hook::float_division, {});
    }
};

/// @throws CompileError unless the operand is the number of an exception of the module
Value* exception_operand(const CallInst& check, unsigned operand, const Compilation& compilation) {
    const auto* exception = dyn_cast<ConstantInt>(check.getArgOperand(operand));
    if (!exception || exception->getZExtValue() >= compilation.exceptions.size()) {
        refuse(check, check.getCalledFunction()->getName().str() + " names no entry of !cudasim.exceptions");
    }
    return check.getArgOperand(operand);
}

template <>
struct Expansion<Check::check_assigned> {
    static void expand(CallInst& check, const Compilation& compilation) {
        Value* exception = exception_operand(check, 1, compilation);
        IRBuilder<> builder(&check);
        Instruction* cold = branch_cold(builder.CreateNot(check.getArgOperand(0)), &check, false);
        builder.SetInsertPoint(cold);
        builder.SetCurrentDebugLocation(check.getDebugLoc());
        call_hook(builder, Hook::raise, {exception});
    }
};

template <>
struct Expansion<Check::raise> {
    static void expand(CallInst& check, const Compilation& compilation) {
        IRBuilder<> builder(&check);
        call_hook(builder, Hook::raise, {exception_operand(check, 0, compilation)});
    }
};

template <>
struct Expansion<Check::breakpoint> {
    static void expand(CallInst& check, const Compilation& compilation) {
        if (!compilation.options.instrumentations.contains(statement_stops())) return;
        IRBuilder<> builder(&check);
        insert_stop(builder)->setMetadata(marks::breakpoint, MDNode::get(check.getContext(), {}));
    }
};

struct Row {
    const char* symbol;
    const char* type;
    void (*expand)(CallInst& check, const Compilation& compilation);
};

constexpr Row rows[] = {
#define CHECK(identifier, symbol, type, gpu) {symbol, type, &Expansion<Check::identifier>::expand},
#include "simulator/image/checks.def"
#undef CHECK
};

[[noreturn]] void refuse_use(const Row& row, User& user) {
    const std::string message = "'" + std::string(row.symbol) + "' is only to be called, as '" + row.type +
                                "': see simulator/image/checks.def";
    if (const auto* instruction = dyn_cast<Instruction>(&user)) refuse(*instruction, message);
    throw CompileError(message, {});
}

}  // namespace

void expand_declared_checks(Compilation& compilation) {
    for (const Row& row : rows) {
        Function* declaration = compilation.module->getFunction(row.symbol);
        if (!declaration) continue;
        for (User* user : make_early_inc_range(declaration->users())) {
            CallInst* check = image::declared_check_call(*user, row.symbol, row.type);
            if (!check) refuse_use(row, *user);
            row.expand(*check, compilation);
            check->eraseFromParent();
        }
        declaration->eraseFromParent();
    }
}

}  // namespace cudasim::jit
