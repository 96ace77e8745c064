// See skipped_operations.h.
#include "simulator/jit/skipped_operations.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "simulator/jit/captured_variables.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/synchronisation.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Immediate post-dominators of the blocks from which the function's end can be reached. Unlike LLVM's, paths
/// that end in a fault, an assertion or a trap do not count.
class PostDominators {
  public:
    explicit PostDominators(Function& function) {
        number_blocks(function);
        next_.assign(blocks_.size() + 1, unknown);
        next_[end] = end;
        bool changed = true;
        while (changed) {
            changed = false;
            for (std::size_t i = 1; i <= blocks_.size(); ++i) {
                const std::size_t found = common_of_successors(*blocks_[i - 1]);
                changed |= std::exchange(next_[i], found) != found;
            }
        }
    }

    /// Null: the end of the function, or a block that does not lead there.
    [[nodiscard]] BasicBlock* next(const BasicBlock* block) const {
        const auto known = numbers_.find(block);
        if (known == numbers_.end() || next_[known->second] == end) return nullptr;
        return blocks_[next_[known->second] - 1];
    }

  private:
    static constexpr std::size_t end = 0, unknown = std::numeric_limits<std::size_t>::max();

    /// In reverse post-order of the reversed graph.
    void number_blocks(Function& function) {
        SmallPtrSet<BasicBlock*, 32> visited;
        for (BasicBlock& block : function) {
            if (!isa<ReturnInst>(block.getTerminator())) continue;
            for (BasicBlock* each : inverse_post_order_ext(&block, visited)) blocks_.push_back(each);
        }
        std::reverse(blocks_.begin(), blocks_.end());
        for (std::size_t i = 0; i < blocks_.size(); ++i) numbers_[blocks_[i]] = i + 1;
    }

    std::size_t common_of_successors(const BasicBlock& block) const {
        if (isa<ReturnInst>(block.getTerminator())) return end;
        std::size_t common = unknown;
        for (const BasicBlock* successor : successors(&block)) {
            const auto known = numbers_.find(successor);
            if (known == numbers_.end() || next_[known->second] == unknown) continue;
            common = common == unknown ? known->second : intersection(common, known->second);
        }
        return common;
    }

    std::size_t intersection(std::size_t a, std::size_t b) const {
        while (a != b) (a > b ? a : b) = next_[std::max(a, b)];
        return a;
    }

    std::vector<BasicBlock*> blocks_;
    DenseMap<const BasicBlock*, std::size_t> numbers_;
    std::vector<std::size_t> next_;
};

bool is_local(const Value* address) {
    return isa<AllocaInst>(getUnderlyingObject(address, 0));
}

/// Whether others can notice that a thread has executed this.
bool has_effect(const Instruction& instruction) {
    if (instruction.getMetadata(marks::internal) != nullptr) return false;
    if (const auto* store = dyn_cast<StoreInst>(&instruction)) return !is_local(store->getPointerOperand());
    if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction))
        return !is_local(update->getPointerOperand());
    if (const auto* update = dyn_cast<AtomicCmpXchgInst>(&instruction))
        return !is_local(update->getPointerOperand());
    if (const auto* memory = dyn_cast<AnyMemIntrinsic>(&instruction)) return !is_local(memory->getRawDest());
    const auto* call = dyn_cast<CallInst>(&instruction);
    if (call == nullptr || is_capture(*call)) return false;
    if (const auto hook = hook_called_by(*call))
        return hook == Hook::warp || hook == Hook::vprintf || hook == Hook::heap_allocate ||
               hook == Hook::heap_free;
    const Function* callee = call->getCalledFunction();
    return callee == nullptr || !callee->isDeclaration();
}

bool is_block_barrier(const Instruction& instruction) {
    const auto hook = hook_called_by(instruction);
    return hook == Hook::barrier || hook == Hook::named_barrier;
}

class Marker {
  public:
    explicit Marker(Function& function)
        : function_(function), dominators_(function), loops_(dominators_), after_(function) {}

    void run() {
        for (Instruction& instruction : instructions(function_)) {
            if (hook_called_by(instruction) != Hook::warp || is_activemask(instruction)) continue;
            std::vector<Instruction*> effects = effects_after(*instruction.getParent());
            if (effects.empty()) continue;
            const auto has_same = [&](const Skippable& other) {
                return other.effects == effects && come_together(*other.operation, instruction);
            };
            if (none_of(skippable_, has_same)) skippable_.push_back({&instruction, std::move(effects)});
        }
        LLVMContext& context = function_.getContext();
        for (const Skippable& each : skippable_) {
            MDNode* mark = MDNode::getDistinct(context, {});
            each.operation->setMetadata(marks::skippable, mark);
            for (Instruction* effect : each.effects) {
                IRBuilder<> builder(effect);
                call_hook(builder, Hook::passes, {builder.getInt32(0)})->setMetadata(marks::skippable, mark);
            }
        }
    }

  private:
    struct Skippable {
        Instruction* operation;
        std::vector<Instruction*> effects;  ///< behind it
    };

    static bool is_activemask(const Instruction& warp) {
        return warp_operation_at(warp)->kind == WarpKind::active;
    }

    /// Whether a lane that comes to the first comes to the second, and the other way round.
    bool come_together(const Instruction& first, const Instruction& second) const {
        const BasicBlock* block = second.getParent();
        if (!dominators_.dominates(first.getParent(), block)) return false;
        for (const BasicBlock* each = first.getParent(); each != nullptr; each = after_.next(each))
            if (each == block) return true;
        return false;
    }

    /// The first effect that every lane comes to after the block, whether or not it came to the block, or
    /// came there as often as others, and the first ones in the loops around that. None behind a barrier of
    /// the block: who left the operation out waits there while others wait for it.
    std::vector<Instruction*> effects_after(const BasicBlock& block) const {
        std::vector<Instruction*> effects;
        unsigned depth = std::numeric_limits<unsigned>::max();
        for (BasicBlock* next = after_.next(&block); next != nullptr; next = after_.next(next)) {
            const auto found = std::ranges::find_if(
                *next, [](const Instruction& each) { return has_effect(each) || is_block_barrier(each); });
            if (found == next->end()) continue;
            if (is_block_barrier(*found)) break;
            const unsigned own = loops_.getLoopDepth(next);
            if (own >= depth) continue;
            const Loop* loop = loops_.getLoopFor(&block);
            const bool leaves_loop = loop != nullptr && !loop->contains(next);
            if (!leaves_loop && dominators_.dominates(&block, next)) continue;
            depth = own;
            effects.push_back(&*found);
        }
        return effects;
    }

    Function& function_;
    DominatorTree dominators_;
    LoopInfo loops_;
    PostDominators after_;
    std::vector<Skippable> skippable_;
};

}  // namespace

void mark_skippable_operations(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        if (any_of(instructions(function),
                   [](const Instruction& instruction) { return hook_called_by(instruction) == Hook::warp; }))
            Marker(function).run();
    }
}

}  // namespace cudasim::jit
