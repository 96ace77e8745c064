// See cold_values.h.
#include "simulator/jit/cold_values.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>

#include <set>

#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

std::vector<CallInst*> captures_of(Function& function) {
    std::vector<CallInst*> calls;
    for (Instruction& instruction : instructions(function))
        if (is_capture(instruction)) calls.push_back(cast<CallInst>(&instruction));
    return calls;
}

/// May be computed somewhere else, and once more.
bool is_pure(const Instruction& value) {
    return !isa<PHINode, AllocaInst, CallBase>(value) && !value.mayReadOrWriteMemory() &&
           isSafeToSpeculativelyExecute(&value);
}

// ------------------------------------------------------------------------------------------------ coroutines

/// The barriers of a coroutine that a value lives across on the way to one of its uses. Those behind the
/// thread loop's head are met again on no way: the walk ends where the value is computed.
class Crossings {
  public:
    Crossings(Function& function, const ThreadLoop& loop) : loop_(loop) {
        for (Instruction& instruction : instructions(function)) {
            const auto hook = hook_called_by(instruction);
            if (hook == Hook::barrier || hook == Hook::warp)
                barriers_[instruction.getParent()].push_back(&instruction);
        }
        SmallVector<BasicBlock*, 32> open{loop.head->getSingleSuccessor()};
        while (!open.empty()) {
            BasicBlock* block = open.pop_back_val();
            if (block == loop.next || !body_.insert(block).second) continue;
            open.append(succ_begin(block), succ_end(block));
        }
    }

    /// Computed in front of the threads' code: there again whenever a thread goes on.
    [[nodiscard]] bool lasts(const Value& value) const {
        const auto* instruction = dyn_cast<Instruction>(&value);
        return !instruction || isa<AllocaInst>(instruction) || !body_.contains(instruction->getParent());
    }

    /// Whether a value is at hand at a capture without being saved for it.
    [[nodiscard]] bool is_at_hand(const Instruction& value, const Instruction& capture) {
        if (lasts(value)) return true;
        const auto needed = on_the_way(value, capture);
        if (needed.empty()) return true;
        auto& saved = saved_[&value];
        if (!saved) {
            saved.emplace();
            for (const User* user : value.users()) {
                if (is_capture(*user)) continue;
                const auto more = uses_end(value, *cast<Instruction>(user));
                saved->insert(more.begin(), more.end());
            }
        }
        return std::includes(saved->begin(), saved->end(), needed.begin(), needed.end());
    }

  private:
    using Barriers = std::set<const Instruction*>;

    Barriers uses_end(const Instruction& value, const Instruction& user) {
        const auto* phi = dyn_cast<PHINode>(&user);
        if (!phi) return on_the_way(value, user);
        Barriers all;
        for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
            if (phi->getIncomingValue(i) != &value) continue;
            const auto more = on_the_way(value, *phi->getIncomingBlock(i)->getTerminator());
            all.insert(more.begin(), more.end());
        }
        return all;
    }

    Barriers on_the_way(const Instruction& value, const Instruction& use) const {
        Barriers met;
        const BasicBlock* home = value.getParent();
        const auto collect = [&](const BasicBlock* block, const Instruction* before) {
            const auto known = barriers_.find(block);
            if (known == barriers_.end()) return;
            for (const Instruction* barrier : known->second) {
                if (before && !barrier->comesBefore(before)) continue;
                if (block == home && barrier->comesBefore(&value)) continue;
                met.insert(barrier);
            }
        };
        collect(use.getParent(), &use);
        if (use.getParent() == home && value.comesBefore(&use)) return met;
        SmallPtrSet<const BasicBlock*, 32> seen;
        SmallVector<const BasicBlock*, 32> open(predecessors(use.getParent()));
        while (!open.empty()) {
            const BasicBlock* block = open.pop_back_val();
            if (block == loop_.head || !seen.insert(block).second) continue;
            collect(block, nullptr);
            if (block != home) open.append(pred_begin(block), pred_end(block));
        }
        return met;
    }

    ThreadLoop loop_;
    std::map<const BasicBlock*, std::vector<const Instruction*>> barriers_;
    SmallPtrSet<const BasicBlock*, 32> body_;
    std::map<const Instruction*, std::optional<Barriers>> saved_;
};

/// Computes a value once more in front of a capture, from what is at hand there; nullptr where that is too
/// long or impossible.
Value* again(Instruction& value, CallInst& capture, Crossings& crossings, unsigned depth) {
    constexpr unsigned longest = 8;
    if (crossings.is_at_hand(value, capture)) return &value;
    if (depth > longest || !is_pure(value)) return nullptr;
    SmallVector<Value*, 4> operands;
    for (Value* operand : value.operands()) {
        auto* instruction = dyn_cast<Instruction>(operand);
        Value* found = instruction ? again(*instruction, capture, crossings, depth + 1) : operand;
        if (!found) return nullptr;
        operands.push_back(found);
    }
    Instruction* copy = value.clone();
    for (unsigned i = 0; i < operands.size(); ++i) copy->setOperand(i, operands[i]);
    copy->insertBefore(&capture);
    return copy;
}

}  // namespace

void drop_costly_captures(Compilation& compilation, const ThreadLoop& loop) {
    constexpr std::size_t most_work = 20'000'000;
    sink_cold_values(compilation);
    Crossings crossings(*compilation.kernel, loop);
    const std::size_t blocks = compilation.kernel->size();
    std::size_t work = 0;
    for (CallInst* capture : captures_of(*compilation.kernel)) {
        for (Use& use : capture->args()) {
            auto* value = dyn_cast<Instruction>(use.get());
            if (!value) continue;
            work += blocks;
            Value* found = work > most_work ? nullptr : again(*value, *capture, crossings, 0);
            use.set(found ? found : PoisonValue::get(value->getType()));
        }
    }
}

void sink_cold_values(Compilation& compilation) {
    constexpr std::size_t most_copies = 4000;
    for (Function& function : *compilation.module) {
        SmallPtrSet<const User*, 32> cold;
        SetVector<Instruction*> open;
        const auto consider = [&](Instruction& user) {
            cold.insert(&user);
            for (Value* operand : user.operands())
                if (auto* value = dyn_cast<Instruction>(operand)) open.insert(value);
        };
        for (CallInst* call : captures_of(function)) consider(*call);
        std::size_t copies = 0;
        while (!open.empty() && copies < most_copies) {
            Instruction* value = open.pop_back_val();
            if (cold.contains(value) || !is_pure(*value)) continue;
            if (!all_of(value->users(), [&](const User* user) { return cold.contains(user); })) continue;
            SmallVector<Instruction*, 8> users;
            for (User* user : value->users())
                if (!is_contained(users, user)) users.push_back(cast<Instruction>(user));
            for (Instruction* user : users) {
                Instruction* copy = value->clone();
                copy->insertBefore(user);
                user->replaceUsesOfWith(value, copy);
                consider(*copy);
                ++copies;
            }
            open.remove(value);
            value->eraseFromParent();
        }
    }
}

}  // namespace cudasim::jit
