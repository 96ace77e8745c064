// The program's variables in a function whose slots are not registers yet, and where they have been assigned.
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <tuple>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// The slot that a debug record describes, or nullptr. The record lies where the function is entered that has
/// the variable: only behind it can the variable have values.
[[nodiscard]] llvm::AllocaInst* described_slot(const llvm::DbgRecord& record);

/// A slot of one variable. A variable has one for each of its types.
struct Slot {
    llvm::AllocaInst* storage;
    const llvm::DILocalVariable* variable;
    const llvm::DILocation* inlined_at;
    llvm::Instruction* description;  ///< the instruction that the description is attached to
    std::vector<std::pair<std::uint64_t, llvm::StoreInst*>>
        stores;  ///< by offset; without the front end's initial zeros
    /// What else may give it a value: copies of memory, and whatever is given its address.
    std::vector<llvm::Instruction*> other_assignments = {};
    bool simple = true;  ///< all that uses it is known
};

class VariableSlots {
  public:
    explicit VariableSlots(llvm::Function& function)
        : function_(function), data_layout_(function.getDataLayout()) {
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
            for (llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange()))
                add(record);
        }
        std::map<std::tuple<const llvm::DILocation*, const llvm::DIScope*, llvm::StringRef>,
                 std::vector<unsigned>>
            variables;
        const auto key = [](const Slot& slot) {
            return std::tuple(slot.inlined_at, llvm::cast<llvm::DIScope>(slot.variable->getScope()),
                              slot.variable->getName());
        };
        for (unsigned i = 0; i < slots_.size(); ++i) {
            collect_uses(i, *slots_[i].storage, 0);
            variables[key(slots_[i])].push_back(i);
        }
        for (const Slot& slot : slots_) same_variable_.push_back(variables[key(slot)]);
    }

    const std::vector<Slot>& slots() const { return slots_; }
    /// All slots of a slot's variable.
    const std::vector<unsigned>& slots_beside(unsigned slot) const { return same_variable_[slot]; }

    /// Which slots certainly, and which possibly, have the variable's value behind an instruction.
    struct Assigned {
        llvm::BitVector certainly, possibly;
    };

    /// Calls visit(instruction, assigned) for each instruction, with what is assigned in front of it.
    template <class Visit>
    void walk(Visit&& visit) {
        std::map<const llvm::BasicBlock*, Assigned> at_end;
        const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
        for (bool changed = true; changed;) {
            changed = false;
            for (llvm::BasicBlock* block : order) {
                Assigned state = meet(*block, at_end);
                for (llvm::Instruction& instruction : *block) {
                    enter(instruction, state);
                    assign(instruction, state);
                }
                const auto known = at_end.find(block);
                if (known != at_end.end() && known->second.certainly == state.certainly &&
                    known->second.possibly == state.possibly)
                    continue;
                at_end[block] = std::move(state);
                changed = true;
            }
        }
        for (llvm::BasicBlock* block : order) {
            Assigned state = meet(*block, at_end);
            for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
                enter(instruction, state);
                visit(instruction, std::as_const(state));
                assign(instruction, state);
            }
        }
    }

  private:
    void add(llvm::DbgVariableRecord& record) {
        llvm::AllocaInst* storage = described_slot(record);
        if (!storage) return;
        if (index_.contains(storage)) return;
        index_[storage] = slots_.size();
        slots_.push_back({storage,
                          record.getVariable(),
                          record.getDebugLoc()->getInlinedAt(),
                          record.getMarker()->MarkedInstr,
                          {}});
    }

    void collect_uses(std::size_t slot, llvm::Value& address, std::uint64_t offset) {
        for (llvm::User* user : address.users()) {
            auto* instruction = llvm::cast<llvm::Instruction>(user);
            if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
                store && store->getPointerOperand() == &address) {
                if (is_initial(*store, slots_[slot])) continue;
                slots_[slot].stores.push_back({offset, store});
                assigns_[store] = slot;
            } else if (auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
                llvm::APInt distance(64, 0);
                if (element->accumulateConstantOffset(data_layout_, distance)) {
                    collect_uses(slot, *element, offset + distance.getZExtValue());
                } else {
                    slots_[slot].simple = false;
                    collect_assignments_somewhere(slots_[slot], *element);
                }
            } else if (llvm::isa<llvm::MemSetInst>(instruction)) {
                // What is not the source's fills new memory.
                if (instruction->getMetadata(marks::internal) == nullptr)
                    slots_[slot].other_assignments.push_back(instruction);
            } else if (!llvm::isa<llvm::LoadInst>(instruction)) {
                slots_[slot].simple = false;
                if (may_assign(*instruction, address)) slots_[slot].other_assignments.push_back(instruction);
            }
        }
    }

    /// Through an address whose distance from the slot is not known.
    static void collect_assignments_somewhere(Slot& slot, llvm::Value& address) {
        for (llvm::User* user : address.users()) {
            auto* instruction = llvm::cast<llvm::Instruction>(user);
            const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
            if (llvm::isa<llvm::GetElementPtrInst>(instruction))
                collect_assignments_somewhere(slot, *instruction);
            else if ((store != nullptr && store->getPointerOperand() == &address) ||
                     llvm::isa<llvm::MemSetInst>(instruction) || may_assign(*instruction, address))
                slot.other_assignments.push_back(instruction);
        }
    }

    /// Whether the instruction, which is no store to the address, may write there, now or later.
    static bool may_assign(const llvm::Instruction& instruction, const llvm::Value& address) {
        if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction))
            return copy->getRawDest() == &address;
        if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
            return store->getValueOperand() == &address;
        const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
        if (callee == nullptr) return call != nullptr;
        return !callee->isIntrinsic() && !callee->getName().starts_with("cudasim");
    }

    /// The front end's zero for a variable that may be read before it is assigned lies in front of the
    /// description.
    static bool is_initial(const llvm::StoreInst& store, const Slot& slot) {
        const auto* value = llvm::dyn_cast<llvm::Constant>(store.getValueOperand());
        if (!value || !value->isNullValue() || store.getPointerOperand() != slot.storage) return false;
        for (const llvm::Instruction* next = &store; next; next = next->getNextNode()) {
            for (const llvm::DbgRecord& record : next->getDbgRecordRange()) {
                if (described_slot(record) == slot.storage) return true;
            }
        }
        return false;
    }

    Assigned nothing() const {
        return {llvm::BitVector(static_cast<unsigned>(slots_.size())),
                llvm::BitVector(static_cast<unsigned>(slots_.size()))};
    }

    Assigned meet(const llvm::BasicBlock& block,
                  const std::map<const llvm::BasicBlock*, Assigned>& at_end) const {
        Assigned state = nothing();
        bool first = true;
        for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
            const auto known = at_end.find(before);
            if (known == at_end.end()) continue;  // not visited yet: says nothing
            state.possibly |= known->second.possibly;
            if (first)
                state.certainly = known->second.certainly;
            else
                state.certainly &= known->second.certainly;
            first = false;
        }
        return state;
    }

    /// A function begins in front of this instruction.
    void enter(llvm::Instruction& instruction, Assigned& state) const {
        for (const llvm::DbgRecord& record : instruction.getDbgRecordRange()) {
            const llvm::AllocaInst* storage = described_slot(record);
            if (!storage) continue;
            const auto slot = static_cast<unsigned>(index_.at(storage));
            state.certainly.reset(slot);
            state.possibly.reset(slot);
        }
    }

    /// A variable has the value of one of its slots.
    void assign(llvm::Instruction& instruction, Assigned& state) const {
        const auto assigned = assigns_.find(&instruction);
        if (assigned == assigns_.end()) return;
        for (const unsigned other : same_variable_[assigned->second]) {
            state.certainly[other] = state.possibly[other] = other == assigned->second;
        }
    }

    llvm::Function& function_;
    const llvm::DataLayout& data_layout_;
    std::vector<Slot> slots_;
    std::vector<std::vector<unsigned>> same_variable_;  ///< by slot, itself included
    std::map<const llvm::AllocaInst*, std::size_t> index_;
    std::map<const llvm::Instruction*, std::size_t> assigns_;
};

}  // namespace cudasim::jit
