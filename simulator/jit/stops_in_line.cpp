// See statement_stops.h: what compiled code does at a statement before it calls the hook.
//
//   record.place = place         where the thread is
//   left -= 1                    in a register; StatementCount::left has it while a hook is called, and when
//                                the function returns
//                                where the processor may find a fault: StatementCount::left, too
//   left == 0, or flags[site]    ── no: the statement runs, with the variables that registers have
//            │ yes
//            ▼ hook `stop`, behind which variables come from memory again (record_registers.h)
//
// Which flags are the thread's (ThreadContext::flags) changes where it calls a hook, and where the next
// thread begins.
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/processor_faults.h"
#include "simulator/jit/record_registers.h"
#include "simulator/jit/standard_instrumentations.h"
#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

Value* at(IRBuilderBase& builder, Value* base, std::uint64_t offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
}

/// Whether the engine, or other compiled code, may look at the count meanwhile.
bool needs_count(const Instruction& instruction) {
    const auto* call = dyn_cast<CallInst>(&instruction);
    if (call == nullptr || isa<IntrinsicInst>(call)) return false;
    switch (hook_called_by(*call).value_or(Hook::stop)) {
        case Hook::enter:
        case Hook::leave:
        case Hook::returned:
        case Hook::local_begin:
        case Hook::local_end:
        case Hook::is_local:
            return false;
        default:
            break;
    }
    if (any_hook_called_by(*call) != nullptr) return true;
    // Functions of libraries know nothing of it.
    const Function* callee = call->getCalledFunction();
    return callee == nullptr ? !call->isInlineAsm() : !callee->isDeclaration();
}

class StopsInLine {
  public:
    /// @param checked accesses of memory are checked
    StopsInLine(Function& function, bool checked)
        : function_(function), context_(function.getArg(0)), checked_(checked), variables_(function) {}

    void run() {
        std::vector<CallInst*> stops, returns;
        std::vector<Instruction*> others, ends;
        std::vector<StoreInst*> beginnings;
        for (Instruction& instruction : instructions(function_)) {
            if (hook_called_by(instruction) == Hook::stop)
                stops.push_back(cast<CallInst>(&instruction));
            else if (hook_called_by(instruction) == Hook::returned)
                returns.push_back(cast<CallInst>(&instruction));
            else if (needs_count(instruction))
                others.push_back(&instruction);
            else if (isa<ReturnInst>(instruction))
                ends.push_back(&instruction);
            else if (auto* store = dyn_cast<StoreInst>(&instruction); store && sets_flags(*store))
                beginnings.push_back(store);
        }
        if (stops.empty()) return;
        faulting_ = statements_that_may_fault(function_, checked_);
        variables_.make(stops.size() + others.size());
        begin();
        for (StoreInst* store : beginnings)
            IRBuilder<>(store->getNextNode()).CreateStore(store->getValueOperand(), flags_);
        for (Instruction* call : others) {
            save(*call);
            restore(*call->getNextNode());
        }
        for (Instruction* end : ends) save(*end);
        for (CallInst* call : stops) test(*call);
        for (CallInst* call : returns) test_flag(*call);
        std::vector<AllocaInst*> registers = variables_.registers();
        registers.insert(registers.end(), {left_, flags_});
        DominatorTree dominators(function_);
        PromoteMemToReg(registers, dominators);
        variables_.remove_unread();
    }

  private:
    void begin() {
        IRBuilder<> builder(&*function_.getEntryBlock().begin());
        Type* pointer = builder.getPtrTy();
        left_ = builder.CreateAlloca(builder.getInt64Ty());
        flags_ = builder.CreateAlloca(pointer);
        builder.SetInsertPoint(function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        Value* block = builder.CreateLoad(pointer, at(builder, context_, offsetof(ThreadContext, block)));
        Value* flags = builder.CreateLoad(pointer, at(builder, block, offsetof(BlockContext, stop_flags)));
        count_ = at(builder, flags, std::uint64_t{0} - sizeof(StatementCount));
        builder.CreateStore(builder.CreateLoad(builder.getInt64Ty(), count_), left_);
        load_flags(builder);
    }

    /// A thread begins (take_stop_flags()).
    [[nodiscard]] bool sets_flags(const StoreInst& store) const {
        const DataLayout& layout = store.getDataLayout();
        const Value* address = store.getPointerOperand();
        APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
        return address->stripAndAccumulateConstantOffsets(layout, offset, true) == context_ &&
               offset == offsetof(ThreadContext, flags);
    }

    void load_flags(IRBuilder<>& builder) {
        Value* address = at(builder, context_, offsetof(ThreadContext, flags));
        builder.CreateStore(builder.CreateLoad(builder.getPtrTy(), address), flags_);
    }

    void save(Instruction& before) {
        IRBuilder<> builder(&before);
        builder.CreateStore(builder.CreateLoad(builder.getInt64Ty(), left_), count_);
    }

    void restore(Instruction& before) {
        if (isa<UnreachableInst>(before)) return;
        IRBuilder<> builder(&before);
        builder.CreateStore(builder.CreateLoad(builder.getInt64Ty(), count_), left_);
        load_flags(builder);
        variables_.load_again(before);
    }

    void test(CallInst& call) {
        Value* record = call.getArgOperand(1);
        const auto site = cast<ConstantInt>(call.getArgOperand(3))->getZExtValue();
        auto* unlikely = MDBuilder(function_.getContext()).createUnlikelyBranchWeights();
        BasicBlock* before = call.getParent();
        BasicBlock* after = before->splitBasicBlock(&call);
        BasicBlock* flagged = BasicBlock::Create(function_.getContext(), "", &function_, after);
        BasicBlock* cold = BasicBlock::Create(function_.getContext(), "", &function_, after);

        before->getTerminator()->eraseFromParent();
        IRBuilder<> builder(before);
        builder.SetCurrentDebugLocation(call.getDebugLoc());
        builder.CreateStore(call.getArgOperand(2), at(builder, record, offsetof(FrameRecord, place)));
        Type* number = builder.getInt64Ty();
        Value* left = builder.CreateSub(builder.CreateLoad(number, left_), builder.getInt64(1));
        builder.CreateStore(left, left_);
        if (faulting_.contains(&call)) builder.CreateStore(left, count_);
        builder.CreateCondBr(builder.CreateIsNull(left), cold, flagged, unlikely);

        builder.SetInsertPoint(flagged);
        builder.CreateCondBr(is_flagged(builder, site), cold, after, unlikely);

        builder.SetInsertPoint(cold);
        Instruction* end = builder.CreateBr(after);
        call.moveBefore(end);
        save(call);
        restore(*end);
    }

    Value* is_flagged(IRBuilderBase& builder, std::uint64_t site) {
        Value* flags = builder.CreateLoad(builder.getPtrTy(), flags_);
        // Other host threads may set it at any time.
        return builder.CreateIsNotNull(
            builder.CreateLoad(builder.getInt8Ty(), at(builder, flags, site), true));
    }

    void test_flag(CallInst& call) {
        IRBuilder<> builder(&call);
        const auto site = cast<ConstantInt>(call.getArgOperand(call.arg_size() - 1))->getZExtValue();
        call.moveBefore(branch_cold(is_flagged(builder, site), &call, true));
    }

    Function& function_;
    DenseSet<const CallInst*> faulting_;
    Value* context_;
    bool checked_;
    RecordRegisters variables_;
    // Of this function's own; they become registers.
    AllocaInst* left_ = nullptr;
    AllocaInst* flags_ = nullptr;  ///< ThreadContext::flags
    Value* count_ = nullptr;       ///< the address of StatementCount::left
};

}  // namespace

Value* thread_stop(IRBuilderBase& builder, Value* context, Value* thread) {
    Type* pointer = builder.getPtrTy();
    LoadInst* block = builder.CreateLoad(pointer, at(builder, context, offsetof(ThreadContext, block)));
    LoadInst* stops = builder.CreateLoad(pointer, at(builder, block, offsetof(BlockContext, thread_stops)));
    for (LoadInst* constant : {block, stops}) {
        constant->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(constant->getContext(), {}));
        mark_internal(*constant);
    }
    Value* index = builder.CreateZExt(thread, builder.getInt64Ty());
    return builder.CreateInBoundsGEP(ArrayType::get(builder.getInt8Ty(), sizeof(ThreadStop)), stops, index);
}

void take_stop_flags(IRBuilderBase& builder, Value* context, Value* thread) {
    Value* here = thread_stop(builder, context, thread);
    LoadInst* flags = builder.CreateLoad(builder.getPtrTy(), at(builder, here, offsetof(ThreadStop, flags)));
    mark_internal(*flags);
    // Volatile, as ThreadContext::thread is.
    mark_internal(*builder.CreateStore(flags, at(builder, context, offsetof(ThreadContext, flags)), true));
}

void test_stops_in_line(Compilation& compilation) {
    const bool checked = compilation.options.instrumentations.contains(memory_checks());
    for (Function& function : *compilation.module)
        if (!function.isDeclaration()) StopsInLine(function, checked).run();
}

}  // namespace cudasim::jit
