// See processor_faults.h.
#include "simulator/jit/processor_faults.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// The thread's own stack, and what the engine has put there.
bool is_sound(const Value* address) {
    const Value* object = getUnderlyingObject(address);
    const auto* argument = dyn_cast<Argument>(object);
    return isa<AllocaInst>(object) || (argument != nullptr && argument->getArgNo() == 0);
}

bool may_fault(const Instruction& instruction, bool checked) {
    switch (instruction.getOpcode()) {
        case Instruction::UDiv:
        case Instruction::URem: {
            const auto* divisor = dyn_cast<ConstantInt>(instruction.getOperand(1));
            return divisor == nullptr || divisor->isZero();
        }
        case Instruction::SDiv:
        case Instruction::SRem: {
            const auto* divisor = dyn_cast<ConstantInt>(instruction.getOperand(1));
            return divisor == nullptr || divisor->isZero() || divisor->isMinusOne();
        }
        default:
            break;
    }
    if (checked) return false;
    if (const Value* address = getLoadStorePointerOperand(&instruction)) return !is_sound(address);
    if (isa<AtomicRMWInst, AtomicCmpXchgInst, MemIntrinsic>(instruction)) return true;
    return false;
}

bool is_statement(const Instruction& instruction) {
    return hook_called_by(instruction) == Hook::stop;
}

}  // namespace

DenseSet<const CallInst*> statements_that_may_fault(Function& function, bool checked) {
    // Blocks that have one in front of their first statement, also where that is in a block behind them.
    DenseSet<const BasicBlock*> faulting, without_statement;
    for (const BasicBlock& block : function) {
        bool has_statement = false;
        for (const Instruction& instruction : block) {
            has_statement = is_statement(instruction);
            if (has_statement) break;
            if (!may_fault(instruction, checked)) continue;
            faulting.insert(&block);
            break;
        }
        if (!has_statement && !faulting.contains(&block)) without_statement.insert(&block);
    }
    std::vector<const BasicBlock*> work(faulting.begin(), faulting.end());
    while (!work.empty()) {
        const BasicBlock* block = work.back();
        work.pop_back();
        for (const BasicBlock* before : predecessors(block))
            if (without_statement.contains(before) && faulting.insert(before).second) work.push_back(before);
    }
    DenseSet<const CallInst*> found;
    for (const BasicBlock& block : function) {
        const CallInst* statement = nullptr;
        for (const Instruction& instruction : block) {
            if (is_statement(instruction))
                statement = cast<CallInst>(&instruction);
            else if (statement != nullptr && may_fault(instruction, checked))
                found.insert(statement);
        }
        if (statement != nullptr &&
            any_of(successors(&block), [&](const BasicBlock* next) { return faulting.contains(next); }))
            found.insert(statement);
    }
    return found;
}

}  // namespace cudasim::jit
