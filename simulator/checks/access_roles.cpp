// See access_roles.h.
#include "simulator/checks/access_roles.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <optional>
#include <set>

#include "simulator/jit/captured_variables.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/synchronisation.h"

namespace cudasim::checks {

using namespace llvm;
using jit::Compilation;
using jit::MemoryAccess;
using jit::MemoryOrder;

bool is_internal(const Instruction& instruction) {
    return instruction.getMetadata(jit::marks::internal) != nullptr;
}

MemoryOrder order_of(const MemoryAccess& access) {
    const bool updates = isa<AtomicRMWInst, AtomicCmpXchgInst>(access.at);
    return updates && access.order == MemoryOrder::sequential ? MemoryOrder::relaxed : access.order;
}

bool orders_threads(const Instruction& instruction) {
    if (is_internal(instruction)) return false;
    if (const auto fence = jit::fence_at(instruction)) return fence->scope != image::Scope::thread;
    if (const auto barrier = jit::barrier_at(instruction))
        return barrier->threads != nullptr || jit::is_of_cluster(barrier->kind);
    if (const auto warp = jit::warp_operation_at(instruction)) return warp->kind == jit::WarpKind::sync;
    if (!instruction.isAtomic()) return false;
    // Who looks at the result may mean to wait for others, and is to be told if a fence is missing.
    if (!isa<StoreInst>(instruction) && !instruction.use_empty()) return true;
    for (const MemoryAccess& access : jit::memory_accesses_of(const_cast<Instruction&>(instruction),
                                                              instruction.getModule()->getDataLayout()))
        if (order_of(access) > MemoryOrder::relaxed) return true;
    return false;
}

bool is_marker(const Instruction& instruction) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    const Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
    return jit::any_hook_called_by(instruction) != nullptr || jit::is_capture(instruction) ||
           (callee != nullptr && jit::keeps_loads(*callee));
}

namespace {

bool changes_memory(const Instruction& instruction) {
    return instruction.mayWriteToMemory() && !is_internal(instruction) && !is_marker(instruction);
}

}  // namespace

bool writes_for_others(const Instruction& instruction) {
    const auto* store = dyn_cast<StoreInst>(&instruction);
    const bool is_own = store != nullptr && isa<AllocaInst>(getUnderlyingObject(store->getPointerOperand()));
    return !is_own && !isa<LoadInst>(instruction) && !jit::fence_at(instruction) &&
           changes_memory(instruction);
}

namespace {

/// The phis of the loop that decide, and nothing else does, whether the value is the same in the next round.
/// Nothing where it depends on something else that the loop computes.
std::optional<SmallPtrSet<const PHINode*, 4>> phis_behind(const Value& value, const Loop& loop) {
    SmallPtrSet<const PHINode*, 4> phis;
    SmallPtrSet<const Value*, 16> known;
    SmallVector<const Value*, 16> open{&value};
    while (!open.empty()) {
        const auto* instruction = dyn_cast<Instruction>(open.pop_back_val());
        if (instruction == nullptr || !loop.contains(instruction) || !known.insert(instruction).second)
            continue;
        if (const auto* phi = dyn_cast<PHINode>(instruction))
            phis.insert(phi);
        else if (isa<GetElementPtrInst, CastInst, BinaryOperator>(instruction))
            open.append(instruction->value_op_begin(), instruction->value_op_end());
        else
            return std::nullopt;
    }
    return phis;
}

/// The ways from a branch back to a load on which no memory is written and the load's address stays the same.
class WaysBack {
  public:
    /// @param phis which the address depends on
    WaysBack(const LoadInst& load, const Loop& loop, const SmallPtrSet<const PHINode*, 4>& phis)
        : load_(load), loop_(loop), phis_(phis) {}

    [[nodiscard]] bool lead_from(const Instruction& branch) {
        // A phi behind the one that it depends on has its value as long as that does not change.
        return any_way(*branch.getParent(), {phis_.begin(), phis_.end()});
    }

  private:
    using Values = SmallPtrSet<const Value*, 8>;

    /// @param same what has, at the end of the block, the value that it had at the load; for a phi of the
    ///     address which that phi had
    bool any_way(const BasicBlock& from, const Values& same) {
        return any_of(successors(&from), [&](const BasicBlock* to) {
            return loop_.contains(to) && steps_ < most_steps && goes_on(from, *to, same);
        });
    }

    bool goes_on(const BasicBlock& from, const BasicBlock& to, Values same) {
        ++steps_;
        for (const PHINode& phi : to.phis()) {
            const Value* incoming = phi.getIncomingValueForBlock(&from);
            if (phis_.contains(&phi)) {
                // Of one phi only is known which one its equals are equal to.
                if (incoming != &phi && (phis_.size() > 1 || !same.contains(incoming))) return false;
            } else if (same.contains(incoming)) {
                same.insert(&phi);
            } else {
                same.erase(&phi);
            }
        }
        if (&to == load_.getParent()) return true;
        return none_of(to, writes_for_others) && any_way(to, same);
    }

    static constexpr unsigned most_steps = 200;

    const LoadInst& load_;
    const Loop& loop_;
    const SmallPtrSet<const PHINode*, 4>& phis_;
    unsigned steps_ = 0;
};

/// Whether a way leads from the branch back to the load on which no memory is written, and the load's address
/// does not change.
bool loops_again(const LoadInst& load, const Instruction& branch, const Loop& loop) {
    if (branch.getNumSuccessors() < 2) return false;
    const auto phis = phis_behind(*load.getPointerOperand(), loop);
    const auto is_quiet = [](const BasicBlock& block) { return none_of(block, writes_for_others); };
    if (!phis || !is_quiet(*load.getParent()) || !is_quiet(*branch.getParent())) return false;
    return WaysBack(load, loop, *phis).lead_from(branch);
}

/// The constants among which the way from the end of a block chooses: where a variable's scope ends, clang
/// leaves a loop by a number for each way out.
SmallVector<const PHINode*, 4> choices_behind(const BasicBlock& block) {
    constexpr unsigned longest_way = 8;
    SmallPtrSet<const BasicBlock*, 16> ways{&block};
    for (const BasicBlock* next : successors(&block))
        for (unsigned i = 0; next != nullptr && i < longest_way; ++i, next = next->getSingleSuccessor())
            ways.insert(next);
    SmallVector<const PHINode*, 4> choices;
    for (const BasicBlock* way : ways)
        for (const PHINode& phi : way->phis())
            if (all_of(phi.incoming_values(), IsaPred<ConstantInt>) && !phi.hasConstantValue() &&
                count_if(phi.blocks(), [&](const BasicBlock* from) { return ways.contains(from); }) > 1)
                choices.push_back(&phi);
    return choices;
}

/// What lies between the end of a block, or an instruction in it, and the last fence before that.
enum class Before : std::uint8_t { fence, write, neither };

Before before(const Instruction* here, const StoreInst& store) {
    for (; here != nullptr; here = here->getPrevNode()) {
        if (const auto fence = jit::fence_at(*here)) {
            if (fence->scope != image::Scope::thread) return Before::fence;
        } else if (here != &store && writes_for_others(*here)) {
            return Before::write;
        }
    }
    return Before::neither;
}

/// Whether every way to the store comes from a fence, behind which nothing is written but, in a loop, the
/// store itself: one that sets many flags.
bool is_behind_fence(const StoreInst& store) {
    const BasicBlock* entry = &store.getFunction()->getEntryBlock();
    SmallPtrSet<const BasicBlock*, 16> known;
    SmallVector<std::pair<const BasicBlock*, const Instruction*>, 16> open{
        {store.getParent(), store.getPrevNode()}};
    while (!open.empty()) {
        const auto [block, last] = open.pop_back_val();
        const Before found = before(last, store);
        if (found == Before::fence) continue;
        if (found == Before::write || block == entry) return false;
        for (const BasicBlock* each : predecessors(block))
            if (known.insert(each).second) open.emplace_back(each, &each->back());
    }
    return true;
}

}  // namespace

bool is_message_store(const Instruction& instruction) {
    const auto* store = dyn_cast<StoreInst>(&instruction);
    if (store == nullptr || !store->isVolatile() || isa<Constant>(store->getValueOperand())) return false;
    Type& type = *store->getValueOperand()->getType();
    const std::uint64_t bytes = instruction.getDataLayout().getTypeStoreSize(&type);
    return !type.isVectorTy() && bytes <= sizeof(std::uint64_t) && store->getAlign().value() >= bytes;
}

bool FlagAccesses::contains(const Instruction& instruction) {
    if (isa<LoadInst>(instruction)) return is_polled_load(instruction);
    const auto* store = dyn_cast<StoreInst>(&instruction);
    return store != nullptr && store->isVolatile() && is_behind_fence(*store);
}

bool FlagAccesses::is_polled_load(const Instruction& instruction) {
    const auto* load = dyn_cast<LoadInst>(&instruction);
    return load != nullptr && (load->isVolatile() || load->isAtomic()) && !is_internal(*load) &&
           is_polled(*load);
}

/// Whether the loop's end depends on what is loaded, or it is loaded again, depending on what it was, with
/// nothing written in between: a loop that waits, and then takes a lock for example.
bool FlagAccesses::is_polled(const LoadInst& load) {
    if (!loops_) {
        tree_.recalculate(function_);
        loops_.emplace(tree_);
    }
    const Loop* loop = loops_->getLoopFor(load.getParent());
    if (loop == nullptr) return false;
    SmallVector<const Instruction*, 16> open{&load};
    SmallPtrSet<const Instruction*, 16> known{&load};
    while (!open.empty()) {
        const Instruction* value = open.pop_back_val();
        if (value->isTerminator() && loop->isLoopExiting(value->getParent())) return true;
        if (value->isTerminator() && loops_again(load, *value, *loop)) return true;
        if (value->isTerminator())
            for (const PHINode* choice : choices_behind(*value->getParent()))
                if (loop->contains(choice) && known.insert(choice).second) open.push_back(choice);
        for (const User* user : value->users()) {
            const auto* next = dyn_cast<Instruction>(user);
            if (next != nullptr && loop->contains(next) && known.insert(next).second) open.push_back(next);
        }
    }
    return false;
}

namespace {

/// Which of the kernel's parameters it writes through, and which it only reads through.
class ParameterUses {
  public:
    explicit ParameterUses(Compilation& compilation) : compilation_(compilation) {}

    /// Nothing is known of memory that is written through other addresses: then no parameter is only read.
    jit::ParameterUse find() {
        std::set<std::uint32_t> read, written;
        for (Function& function : *compilation_.module) {
            for (Instruction& instruction : instructions(function)) {
                if (is_internal(instruction)) continue;
                for (const MemoryAccess& access :
                     jit::memory_accesses_of(instruction, function.getDataLayout())) {
                    const auto parameter = parameter_of(access.address);
                    const bool writes = (access.flags & (jit::access_write | jit::access_atomic)) != 0;
                    if (parameter)
                        (writes || access.is_volatile ? written : read).insert(*parameter);
                    else if (writes && !is_on_chip(access.address))
                        return {};
                }
            }
        }
        jit::ParameterUse use;
        for (const std::uint32_t parameter : read)
            if (!written.contains(parameter)) use.unchecked.push_back(parameter);
        use.written.assign(written.begin(), written.end());
        return use;
    }

    std::optional<std::uint32_t> parameter_of(Value* address) const {
        const auto* argument = dyn_cast<Argument>(getUnderlyingObject(address, 0));
        if (argument == nullptr || argument->getParent() != compilation_.kernel ||
            argument->getArgNo() < jit::body_parameters)
            return std::nullopt;
        const std::uint32_t index = argument->getArgNo() - jit::body_parameters;
        return compilation_.by_value[index] ? std::nullopt : std::optional(index);
    }

  private:
    static bool is_on_chip(Value* address) {
        const auto variable = jit::variable_behind(address);
        return isa<AllocaInst>(getUnderlyingObject(address, 0)) ||
               (variable && variable->space == jit::shared);
    }

    Compilation& compilation_;
};

}  // namespace

jit::ParameterUse parameter_use_of(Compilation& compilation) {
    return ParameterUses(compilation).find();
}

bool uses_clusters(const Module& module) {
    if (module.getFunction("cudasim_hook_map_shared") != nullptr) return true;
    const Function* barrier = module.getFunction("cudasim_hook_named_barrier");
    return barrier != nullptr && std::ranges::any_of(barrier->users(), [](const User* user) {
               const auto* call = dyn_cast<Instruction>(user);
               const auto at = call == nullptr ? std::nullopt : jit::barrier_at(*call);
               return at && jit::is_of_cluster(at->kind);
           });
}

}  // namespace cudasim::checks
