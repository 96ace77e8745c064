// See atomic_idioms.h.
#include "simulator/checks/atomic_idioms.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <deque>

#include "simulator/checks/access_roles.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/synchronisation.h"

namespace cudasim::checks {

using namespace llvm;

namespace {

constexpr unsigned deepest = 8;           ///< of comparing addresses, and of following decisions
constexpr std::size_t most_values = 256;  ///< that depend on a load
constexpr std::size_t most_blocks = 512;  ///< that are looked at for a branch

const Value* without_casts(const Value* value) {
    while (const auto* cast = dyn_cast<CastInst>(value)) value = cast->getOperand(0);
    return value;
}

/// Whether both are computed alike, from the same: addresses are not made one before the optimiser runs.
bool is_same(const Value* a, const Value* b, unsigned depth = 0) {
    a = a->stripPointerCasts(), b = b->stripPointerCasts();
    if (a == b) return true;
    const auto *first = dyn_cast<Instruction>(a), *second = dyn_cast<Instruction>(b);
    if (first == nullptr || second == nullptr || depth > deepest || !first->isSameOperationAs(second))
        return false;
    if (isa<PHINode, AllocaInst, CallBase>(first) || first->mayWriteToMemory()) return false;
    for (unsigned each = 0; each < first->getNumOperands(); ++each)
        if (!is_same(first->getOperand(each), second->getOperand(each), depth + 1)) return false;
    return true;
}

/// The local variable that an instruction writes to; nullptr where there is none, or it writes elsewhere.
const AllocaInst* local_written_by(const Instruction& instruction) {
    const Value* target = nullptr;
    if (const auto* store = dyn_cast<StoreInst>(&instruction)) target = store->getPointerOperand();
    if (const auto* copy = dyn_cast<MemCpyInst>(&instruction)) target = copy->getRawDest();
    return target == nullptr ? nullptr : dyn_cast<AllocaInst>(getUnderlyingObject(target));
}

/// What computes a value from others, and does nothing else.
bool only_computes(const Instruction& instruction) {
    if (isa<PHINode, CastInst, BinaryOperator, UnaryOperator, CmpInst, SelectInst, FreezeInst,
            ExtractValueInst, InsertValueInst, ExtractElementInst, InsertElementInst, ShuffleVectorInst>(
            instruction))
        return true;
    const auto* call = dyn_cast<CallInst>(&instruction);
    if (call == nullptr || call->getType()->isVoidTy() || is_marker(instruction)) return false;
    return !call->mayHaveSideEffects() && !call->mayReadFromMemory();
}

/// Whether nobody but checks does anything with an address that has become a number.
bool is_for_checks(const Instruction& number, std::set<const Instruction*>& seen) {
    if (seen.size() > most_values) return false;
    return !seen.insert(&number).second || all_of(number.users(), [&](const User* each) {
        const auto& user = *cast<Instruction>(each);
        if (is_marker(user) || is_internal(user) || user.isTerminator()) return true;
        return (only_computes(user) || isa<GetElementPtrInst>(user)) && is_for_checks(user, seen);
    });
}

/// Whether a value is the one that the compare-and-swap has found in memory. Some code chooses between that
/// and what was compared with, by whether they are equal.
bool is_found_by(const Value* value, const AtomicCmpXchgInst& exchange) {
    const Value* const expected = without_casts(exchange.getCompareOperand());
    const auto is_result = [&](const Value* each) {
        const auto* part = dyn_cast<ExtractValueInst>(without_casts(each));
        return part != nullptr && part->getAggregateOperand() == &exchange && part->getIndices()[0] == 0;
    };
    if (is_result(value)) return true;
    const auto* phi = dyn_cast<PHINode>(without_casts(value));
    return phi != nullptr && any_of(phi->incoming_values(), is_result) &&
           all_of(phi->incoming_values(), [&](const Value* each) {
               return is_result(each) || is_same(without_casts(each), expected);
           });
}

/// Whether the condition says that the compare-and-swap has found what it compared with.
/// @param when gets the value that says so
bool is_success(const Value* condition, const AtomicCmpXchgInst& exchange, bool& when) {
    const auto* flag = dyn_cast<ExtractValueInst>(without_casts(condition));
    if (flag != nullptr && flag->getAggregateOperand() == &exchange && flag->getIndices()[0] == 1)
        return when = true;
    const auto* comparison = dyn_cast<CmpInst>(condition);
    if (comparison == nullptr || !comparison->isEquality()) return false;
    const CmpInst::Predicate predicate = comparison->getPredicate();
    when = predicate == CmpInst::ICMP_EQ || predicate == CmpInst::FCMP_OEQ || predicate == CmpInst::FCMP_UEQ;
    const Value* const expected = without_casts(exchange.getCompareOperand());
    return any_of(ArrayRef({0U, 1U}), [&](unsigned side) {
        return is_found_by(comparison->getOperand(side), exchange) &&
               is_same(without_casts(comparison->getOperand(1 - side)), expected);
    });
}

/// The shared variable that an address leads into, as it is addressed; nullptr for other memory.
const Value* shared_variable_behind(const Value* address) {
    while (const auto* element = dyn_cast<GEPOperator>(address)) {
        if (const auto variable = jit::variable_at(element))
            return variable->space == jit::shared ? element : nullptr;
        address = element->getPointerOperand();
    }
    return nullptr;
}

bool ends_here(const BasicBlock& block) {
    return isa<UnreachableInst>(block.getTerminator());
}

/// What other threads, or the host, can see of an instruction.
bool is_visible(const Instruction& instruction) {
    if (is_internal(instruction) || local_written_by(instruction) != nullptr) return false;
    if (const auto hook = jit::hook_called_by(instruction))
        return *hook == jit::Hook::vprintf || *hook == jit::Hook::heap_allocate ||
               *hook == jit::Hook::heap_free || *hook == jit::Hook::barrier ||
               *hook == jit::Hook::named_barrier || *hook == jit::Hook::warp;
    return writes_for_others(instruction);
}

}  // namespace

AtomicIdioms::AtomicIdioms(Function& function) : function_(function) {
    for (const Instruction& instruction : instructions(function)) {
        if (is_internal(instruction)) continue;
        if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) exchanges_.push_back(exchange);
        has_updates_ =
            has_updates_ || (isa<AtomicRMWInst, AtomicCmpXchgInst>(instruction) && !instruction.use_empty());
    }
}

const DominatorTree& AtomicIdioms::tree() {
    if (!tree_) tree_.emplace(function_);
    return *tree_;
}

// Verified reads -----------------------------------------------------------------------------------------

/// What depends on a load, and the compare-and-swaps of its word.
struct AtomicIdioms::Dependence {
    const LoadInst& load;
    Exchanges exchanges;
    std::vector<std::pair<const AtomicCmpXchgInst*, BasicBlockEdge>> confirmations;
    const AtomicCmpXchgInst* tried = nullptr;  ///< one that a value which depends on the load decides about
    std::set<const Value*> values;
    std::vector<const Instruction*> open;

    void add(const Instruction& value) {
        if (values.insert(&value).second) open.push_back(&value);
    }
    [[nodiscard]] bool has(const Instruction& instruction) const {
        return is_contained(exchanges, &instruction);
    }
    /// Whether the value depends on the load in other ways than by what the compare-and-swap compares.
    [[nodiscard]] bool goes_past(const Value& value, const AtomicCmpXchgInst& exchange,
                                 std::set<const Value*>& seen) const {
        if (!values.contains(&value) || !seen.insert(&value).second) return false;
        if (is_same(without_casts(&value), without_casts(exchange.getCompareOperand()))) return false;
        const auto& instruction = *cast<Instruction>(&value);
        if (isa<PHINode, LoadInst>(instruction)) return true;
        return any_of(instruction.operands(),
                      [&](const Use& operand) { return goes_past(*operand, exchange, seen); });
    }
};

const AtomicCmpXchgInst* AtomicIdioms::verifies(const Instruction& instruction) {
    if (exchanges_.empty() || !isa<LoadInst>(instruction)) return nullptr;
    const auto& load = *cast<LoadInst>(&instruction);
    if (load.isAtomic() || is_internal(load)) return nullptr;
    const std::uint64_t bytes = function_.getDataLayout().getTypeStoreSize(load.getType());
    if (!load.getType()->isSingleValueType() || load.getType()->isVectorTy() ||
        bytes > sizeof(std::uint64_t) || load.getAlign().value() < bytes)
        return nullptr;
    Dependence found{load, {}, {}, nullptr, {}, {}};
    for (const AtomicCmpXchgInst* exchange : exchanges_)
        if (is_same(load.getPointerOperand(), exchange->getPointerOperand()) &&
            function_.getDataLayout().getTypeStoreSize(exchange->getCompareOperand()->getType()) == bytes)
            found.exchanges.push_back(exchange);
    if (found.exchanges.empty()) return nullptr;
    find_confirmations(found);
    found.add(load);
    while (!found.open.empty()) {
        const Instruction* const value = found.open.back();
        found.open.pop_back();
        if (found.values.size() > most_values) return nullptr;
        for (const Use& use : value->uses()) {
            const auto& user = *cast<Instruction>(use.getUser());
            if (is_marker(user) || is_internal(user)) continue;
            if (found.has(user)) {
                if (use.getOperandNo() == AtomicCmpXchgInst::getPointerOperandIndex()) return nullptr;
                found.tried = cast<AtomicCmpXchgInst>(&user);
                continue;
            }
            bool when = false;
            if (any_of(found.exchanges, [&](const auto* exchange) {
                    return is_success(&user, *exchange, when) || is_found_by(&user, *exchange);
                }))
                continue;
            if (is_confirmed(use, found) || is_stored_anew(user, found)) continue;
            if (only_computes(user)) {
                found.add(user);
            } else if (const AllocaInst* local = local_written_by(user)) {
                if (!follow_local(*local, found)) return nullptr;
            } else if (!follow_branch(user, found)) {
                return nullptr;
            }
        }
    }
    return found.tried;
}

/// The branches that ask whether a compare-and-swap has succeeded.
void AtomicIdioms::find_confirmations(Dependence& found) const {
    for (const BasicBlock& block : function_) {
        const auto* branch = dyn_cast<BranchInst>(block.getTerminator());
        if (branch == nullptr || !branch->isConditional() ||
            branch->getSuccessor(0) == branch->getSuccessor(1))
            continue;
        for (const AtomicCmpXchgInst* exchange : found.exchanges)
            if (bool when = false; is_success(branch->getCondition(), *exchange, when))
                found.confirmations.push_back({exchange, {&block, branch->getSuccessor(when ? 0 : 1)}});
    }
}

/// Whether what is used is what a compare-and-swap has found in memory by then.
bool AtomicIdioms::is_confirmed(const Use& use, const Dependence& found) {
    return any_of(found.confirmations, [&](const auto& confirmation) {
        std::set<const Value*> seen;
        return tree().dominates(confirmation.second, use) &&
               !found.goes_past(*use.get(), *confirmation.first, seen);
    });
}

/// What is read of a local variable depends on the load from now on. Its address must stay in the function.
bool AtomicIdioms::follow_local(const AllocaInst& local, Dependence& found) {
    if (!found.values.insert(&local).second) return true;
    std::vector<const Instruction*> addresses{&local};
    while (!addresses.empty()) {
        const Instruction* const address = addresses.back();
        addresses.pop_back();
        for (const Use& use : address->uses()) {
            const auto& user = *cast<Instruction>(use.getUser());
            const auto* copy = dyn_cast<MemCpyInst>(&user);
            const auto* store = dyn_cast<StoreInst>(&user);
            if (isa<GetElementPtrInst, CastInst>(user) && user.getType()->isPointerTy()) {
                addresses.push_back(&user);
            } else if (isa<PtrToIntInst>(user)) {
                std::set<const Instruction*> seen;
                if (!is_for_checks(user, seen)) return false;
            } else if (isa<LoadInst>(user)) {
                found.add(user);
            } else if (copy != nullptr && use.getOperandNo() == 1) {
                const AllocaInst* const target = local_written_by(user);
                if (target == nullptr || !follow_local(*target, found)) return false;
            } else if (copy == nullptr && !isa<MemSetInst>(user) && !is_marker(user) && !is_internal(user) &&
                       !user.isLifetimeStartOrEnd() &&
                       (store == nullptr || use.getOperandNo() != StoreInst::getPointerOperandIndex())) {
                return false;
            }
        }
    }
    return true;
}

/// Whether each attempt of a loop stores what its compare-and-swap then compares with, as in
/// `node->next = head`: when that has succeeded, what lies there is confirmed.
bool AtomicIdioms::is_stored_anew(const Instruction& instruction, const Dependence& found) {
    const auto* store = dyn_cast<StoreInst>(&instruction);
    if (store == nullptr || found.values.contains(store->getPointerOperand())) return false;
    if (!loops_) loops_.emplace(tree());
    const Loop* const loop = loops_->getLoopFor(store->getParent());
    return loop != nullptr && any_of(found.exchanges, [&](const AtomicCmpXchgInst* exchange) {
               return loops_->getLoopFor(exchange->getParent()) == loop &&
                      tree().dominates(store, exchange) &&
                      is_same(without_casts(store->getValueOperand()),
                              without_casts(exchange->getCompareOperand()));
           });
}

/// The block in which all ways from the end of this one meet again, those into faults apart; nullptr where
/// there is none.
const BasicBlock* AtomicIdioms::join_of(const BasicBlock& block) const {
    const auto reach = [](const BasicBlock& from, const BasicBlock* without,
                          std::vector<const BasicBlock*>& order) {
        std::set<const BasicBlock*> seen;
        std::deque<const BasicBlock*> open(succ_begin(&from), succ_end(&from));
        bool returns = false;
        while (!open.empty() && order.size() < most_blocks) {
            const BasicBlock* const next = open.front();
            open.pop_front();
            if (next == without || ends_here(*next) || !seen.insert(next).second) continue;
            order.push_back(next);
            returns = returns || succ_empty(next);
            open.insert(open.end(), succ_begin(next), succ_end(next));
        }
        return returns || !open.empty();
    };
    std::vector<const BasicBlock*> candidates;
    reach(block, nullptr, candidates);
    for (const BasicBlock* each : candidates) {
        std::vector<const BasicBlock*> rest;
        if (!reach(block, each, rest)) return each;
    }
    return nullptr;
}

/// What a branch decides that depends on the load: nothing but whether a compare-and-swap is tried, and
/// values that are followed.
bool AtomicIdioms::follow_branch(const Instruction& branch, Dependence& found) {
    if (!isa<BranchInst, SwitchInst>(branch)) return false;
    const BasicBlock* const join = join_of(*branch.getParent());
    const auto merge = [&](const BasicBlock& block) {
        for (const PHINode& phi : block.phis())
            if (!phi.hasConstantValue()) found.add(phi);
    };
    std::set<const BasicBlock*> seen;
    std::vector<const BasicBlock*> open(succ_begin(branch.getParent()), succ_end(branch.getParent()));
    if (join != nullptr) merge(*join);
    while (!open.empty()) {
        const BasicBlock* const block = open.back();
        open.pop_back();
        if (block == join || ends_here(*block) || !seen.insert(block).second) continue;
        if (seen.size() > most_blocks) return false;
        merge(*block);
        bool is_tried = false;
        for (const Instruction& instruction : *block) {
            if (found.has(instruction)) {
                found.tried = cast<AtomicCmpXchgInst>(&instruction);
                is_tried = true;
                break;
            }
            if (&instruction == &found.load || is_visible(instruction)) return false;
        }
        if (!is_tried) open.insert(open.end(), succ_begin(block), succ_end(block));
    }
    return true;
}

// Decided writes -----------------------------------------------------------------------------------------

bool AtomicIdioms::is_decided(const Instruction& instruction) {
    return has_updates_ && isa<StoreInst>(instruction) && is_behind_decision(instruction, 0);
}

/// Whether a branch that looks at the value of an atomic update leads there.
bool AtomicIdioms::is_behind_decision(const Instruction& instruction, unsigned depth) {
    const auto* node = tree().getNode(instruction.getParent());
    for (node = node != nullptr ? node->getIDom() : nullptr; node != nullptr; node = node->getIDom()) {
        const auto* branch = dyn_cast<BranchInst>(node->getBlock()->getTerminator());
        if (branch == nullptr || !branch->isConditional() ||
            branch->getSuccessor(0) == branch->getSuccessor(1))
            continue;
        for (const BasicBlock* successor : branch->successors())
            if (tree().dominates(BasicBlockEdge(branch->getParent(), successor), instruction.getParent()) &&
                comes_from_update(*branch->getCondition(), depth))
                return true;
    }
    return false;
}

bool AtomicIdioms::comes_from_update(const Value& value, unsigned depth) {
    if (isa<AtomicRMWInst, AtomicCmpXchgInst>(value)) return true;
    const auto* instruction = dyn_cast<Instruction>(&value);
    if (instruction == nullptr || depth > deepest) return false;
    const auto [known, is_new] = from_updates_.try_emplace(&value, false);
    if (!is_new) return known->second;
    bool found = false;
    if (const auto* load = dyn_cast<LoadInst>(instruction)) {
        found = comes_through_memory(*load, depth);
    } else if (!isa<CallInst>(instruction) || jit::warp_operation_at(*instruction) ||
               jit::barrier_at(*instruction) || only_computes(*instruction)) {
        found =
            any_of(instruction->operands(), [&](const Use& each) { return comes_from_update(*each, depth); });
        if (const auto* phi = dyn_cast<PHINode>(instruction))
            found = found || any_of(phi->blocks(), [&](const BasicBlock* each) {
                        return is_behind_decision(*each->getTerminator(), depth + 1);
                    });
    }
    return from_updates_[&value] = found;
}

/// A value that a thread of the block has left in shared memory.
bool AtomicIdioms::comes_through_memory(const LoadInst& load, unsigned depth) {
    const Value* const variable = shared_variable_behind(load.getPointerOperand());
    if (variable == nullptr) return false;
    for (const Instruction& instruction : instructions(function_)) {
        const auto* store = dyn_cast<StoreInst>(&instruction);
        if (store == nullptr) continue;
        const Value* const target = shared_variable_behind(store->getPointerOperand());
        if (target == nullptr || !is_same(variable, target)) continue;
        if (comes_from_update(*store->getValueOperand(), depth + 1) || is_behind_decision(*store, depth + 1))
            return true;
    }
    return false;
}

}  // namespace cudasim::checks
