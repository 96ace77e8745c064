// See phase_loops.h. For each case of the switch in the loop's head, the head and everything that can be
// reached from the case's block without passing through the head is copied. The copy's head leads to
// that block only, or back to the common head where the thread's state is another one. In the copy tid.x is
// written to the context where a call may read it, and a state that stays the same is not written again. The
// original blocks are unreachable afterwards.
#include "simulator/jit/phase_loops.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "simulator/jit/abi.h"
#include "simulator/jit/captured_variables.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Instructions of a copy, some 40 of the loop included. The question costs a thread about a nanosecond, and
/// registers are shared with other phases: behind more code than this it is hardly noticed, but compiling the
/// copy is. The code in front of the first barrier runs once; what follows a barrier may run in a loop.
constexpr std::size_t largest_first_copy = 120, largest_copy = 240;
/// Of all copies together: about 30 ms of compile time.
constexpr std::size_t largest_growth = 4000;

class PhaseLoops {
  public:
    PhaseLoops(Function& entry, const ThreadLoop& loop)
        : entry_(entry), head_(loop.head), choice_(cast<SwitchInst>(loop.head->getTerminator())) {}

    void run() {
        std::size_t budget = largest_growth;
        for (auto point : choice_->cases()) {
            const std::size_t most =
                point.getCaseValue()->equalsInt(thread_fresh) ? largest_first_copy : largest_copy;
            const auto blocks = blocks_from(point.getCaseSuccessor(), std::min(most, budget));
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
        write_index_at_calls(*head, copied);
        drop_same_state(*head, state, copied);
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

    /// Nothing but calls reads tid.x in the context; the thread's number is written for faults, too.
    void write_index_at_calls(BasicBlock& head, ArrayRef<BasicBlock*> copied) const {
        StoreInst* written = index_store(head);
        if (!written) return;
        for (BasicBlock* block : copied) {
            for (Instruction& instruction : *block)
                if (may_read_context(instruction)) written->clone()->insertBefore(&instruction);
        }
        written->eraseFromParent();
    }

    /// The head's store of tid.x.
    StoreInst* index_store(BasicBlock& head) const {
        for (Instruction& instruction : head) {
            auto* store = dyn_cast<StoreInst>(&instruction);
            if (!store || store->isVolatile()) continue;
            APInt offset(64, 0);
            const Value* base = store->getPointerOperand()->stripAndAccumulateConstantOffsets(
                entry_.getDataLayout(), offset, /*AllowNonInbounds=*/true);
            if (base == entry_.getArg(0) && offset == offsetof(ThreadContext, tid)) return store;
        }
        return nullptr;
    }

    static bool may_read_context(const Instruction& instruction) {
        return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction) && !is_capture(instruction);
    }

    /// Whoever comes to the barrier that he has left is in the state in which he began.
    static void drop_same_state(BasicBlock& head, const ConstantInt& state, ArrayRef<BasicBlock*> copied) {
        const auto* choice = cast<ICmpInst>(cast<BranchInst>(head.getTerminator())->getCondition());
        const Value* place = cast<LoadInst>(choice->getOperand(0))->getPointerOperand();
        for (BasicBlock* block : copied) {
            for (Instruction& instruction : make_early_inc_range(*block)) {
                auto* store = dyn_cast<StoreInst>(&instruction);
                if (store && store->getPointerOperand() == place && store->getValueOperand() == &state)
                    store->eraseFromParent();
            }
        }
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
