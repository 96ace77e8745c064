// See phase_loops.h. For each case of the switch in the loop's head, the head and everything that can be
// reached from the case's block without passing through the head is copied. The copy's head leads to
// that block only, or back to the common head where the thread's state is another one. The original
// blocks are unreachable afterwards.
#include "simulator/jit/phase_loops.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Instructions of a copy, some 40 of the loop included. The question costs a thread about a nanosecond:
/// behind more code than this it is not noticed, but compiling the copy is.
constexpr std::size_t largest_copy = 120;
/// Of all copies together: about 30 ms of compile time.
constexpr std::size_t largest_growth = 4000;

class PhaseLoops {
  public:
    PhaseLoops(Function& entry, const ThreadLoop& loop)
        : entry_(entry), head_(loop.head), choice_(cast<SwitchInst>(loop.head->getTerminator())) {}

    void run() {
        std::size_t budget = largest_growth;
        for (auto point : choice_->cases()) {
            const auto blocks = blocks_from(point.getCaseSuccessor(), std::min(largest_copy, budget));
            if (blocks.empty()) continue;
            for (const BasicBlock* block : blocks) budget -= block->size();
            point.setSuccessor(copy(*point.getCaseValue(), *point.getCaseSuccessor(), blocks));
        }
        EliminateUnreachableBlocks(entry_);
    }

  private:
    /// The head, and all blocks of the loop on the way from `first` back to it, with those that end in a
    /// fault. The function's return is not among them. Empty where they have more instructions than `most`.
    SmallVector<BasicBlock*, 32> blocks_from(BasicBlock* first, std::size_t most) const {
        SmallVector<BasicBlock*, 32> found{head_};
        SmallPtrSet<BasicBlock*, 32> seen{head_};
        SmallVector<BasicBlock*, 32> open{first};
        std::size_t size = head_->size();
        while (!open.empty()) {
            BasicBlock* block = open.pop_back_val();
            if (isa<ReturnInst>(block->getTerminator()) || !seen.insert(block).second) continue;
            size += block->size();
            if (size > most) return {};
            found.push_back(block);
            open.append(succ_begin(block), succ_end(block));
        }
        return found;
    }

    /// Returns the head of the copy of `blocks`, of which `first` is where threads in this state go on.
    BasicBlock* copy(ConstantInt& state, BasicBlock& first, ArrayRef<BasicBlock*> blocks) {
        ValueToValueMapTy copies;
        SmallVector<BasicBlock*, 32> copied;
        for (BasicBlock* block : blocks) {
            copied.push_back(CloneBasicBlock(block, copies, ".phase", &entry_));
            copies[block] = copied.back();
        }
        remapInstructionsInBlocks(copied, copies);
        BasicBlock* head = copied.front();
        ask(*head, state, *cast<BasicBlock>(copies[&first]));
        for (std::size_t i = 1; i < copied.size(); ++i) join_exits(*blocks[i], *copied[i], copies);
        for (BasicBlock* block : copied) drop_strangers(*block);
        for (PHINode& phi : head_->phis()) {
            auto* twin = cast<PHINode>(copies[&phi]);
            twin->addIncoming(&phi, head_);
            phi.addIncoming(twin, head);
        }
        first.removePredecessor(head_, /*KeepOneInputPHIs=*/true);
        return head;
    }

    /// The copied head goes to the code of its own state, or to the common head.
    void ask(BasicBlock& head, ConstantInt& state, BasicBlock& code) {
        auto* choice = cast<SwitchInst>(head.getTerminator());
        IRBuilder<> builder(choice);
        builder.CreateCondBr(builder.CreateICmpEQ(choice->getCondition(), &state), &code, head_,
                             MDBuilder(builder.getContext()).createLikelyBranchWeights());
        choice->eraseFromParent();
    }

    /// The return's phis take the same values from the copy as from the block.
    static void join_exits(BasicBlock& block, BasicBlock& copy, const ValueToValueMapTy& copies) {
        for (BasicBlock* target : successors(&copy)) {
            if (!isa<ReturnInst>(target->getTerminator())) continue;
            for (PHINode& phi : target->phis()) {
                Value* value = phi.getIncomingValueForBlock(&block);
                Value* copied = copies.lookup(value);
                phi.addIncoming(copied ? copied : value, &copy);
            }
        }
    }

    /// Phis forget the blocks from which nothing comes to the copy.
    static void drop_strangers(BasicBlock& copy) {
        const SmallPtrSet<BasicBlock*, 8> known(pred_begin(&copy), pred_end(&copy));
        for (PHINode& phi : copy.phis())
            phi.removeIncomingValueIf([&](unsigned i) { return !known.contains(phi.getIncomingBlock(i)); },
                                      /*DeletePHIIfEmpty=*/false);
    }

    Function& entry_;
    BasicBlock* head_;
    SwitchInst* choice_;
};

}  // namespace

void give_phases_their_loops(Compilation& compilation, const ThreadLoop& loop) {
    PhaseLoops(*compilation.kernel, loop).run();
}

}  // namespace cudasim::jit
