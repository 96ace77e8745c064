// Turns constant expressions in code into instructions, so that all passes below see instructions only.
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ReplaceConstant.h>

#include "simulator/jit/lowering.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// A PHI's operand is computed where it comes from, the same for all edges from there.
void replace_operand(Instruction& user, unsigned index, Instruction& expanded) {
    auto* phi = dyn_cast<PHINode>(&user);
    if (!phi) {
        expanded.insertBefore(&user);
        user.setOperand(index, &expanded);
        return;
    }
    BasicBlock* from = phi->getIncomingBlock(index);
    expanded.insertBefore(from->getTerminator());
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        if (phi->getIncomingBlock(i) == from) phi->setIncomingValue(i, &expanded);
    }
}

void expand_operands(Function& function) {
    SmallVector<Instruction*, 64> work;
    for (Instruction& instruction : instructions(function)) work.push_back(&instruction);
    while (!work.empty()) {
        Instruction* user = work.pop_back_val();
        for (unsigned i = 0; i < user->getNumOperands(); ++i) {
            auto* expression = dyn_cast<ConstantExpr>(user->getOperand(i));
            if (!expression) continue;
            Instruction* expanded = expression->getAsInstruction();
            expanded->setDebugLoc(user->getDebugLoc());
            replace_operand(*user, i, *expanded);
            work.push_back(expanded);
        }
    }
}

}  // namespace

void expand_constants(Compilation& compilation) {
    SmallVector<Constant*, 32> mentioned;  // aggregates that hold one of these are taken apart too
    for (auto& variable : compilation.module->globals()) mentioned.push_back(&variable);
    for (auto& function : *compilation.module) mentioned.push_back(&function);
    convertUsersOfConstantsToInstructions(mentioned);
    for (Function& function : *compilation.module) expand_operands(function);
}

}  // namespace cudasim::jit
