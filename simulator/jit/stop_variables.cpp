// See statement_stops.h: where variables lie in code that is compiled for stops.
//
//   frame record   | caller, place | variable | variable | ... | assigned? | assigned? | ...
//                  FrameRecord (abi.h)                          a byte for each variable
//
// A variable that the source assigns with several types has a place for each; the byte
// says which of them it has now.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <map>
#include <set>
#include <tuple>

#include "simulator/jit/coroutine.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/statement_stops.h"
#include "simulator/jit/variable_descriptions.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

std::vector<CallInst*> stop_calls(Function& function) {
    std::vector<CallInst*> calls;
    for (Instruction& instruction : instructions(function))
        if (hook_called_by(instruction) == Hook::stop) calls.push_back(cast<CallInst>(&instruction));
    return calls;
}

class RecordLayout {
  public:
    RecordLayout(Compilation& compilation, Function& function)
        : compilation_(compilation),
          function_(function),
          data_layout_(function.getDataLayout()),
          variables_(function),
          descriptions_(compilation.stops.types, data_layout_) {}

    void run() {
        const std::vector<CallInst*> calls = stop_calls(function_);
        if (calls.empty()) return;
        place_variables();
        forget_left_variables(calls);
        place_returned_values();
        if (&function_ == compilation_.kernel) describe_arguments();
        AllocaInst* record = make_record();
        if (&function_ == compilation_.kernel && !calls_barrier(*compilation_.module))
            keep_parameters(*record);
        for (CallInst* call : calls) {
            IRBuilder<> builder(call);
            call->setArgOperand(1, record);
            call->setArgOperand(
                2, builder.getInt32(static_cast<std::uint32_t>(compilation_.stops.places.size())));
            StopPlace place;
            place.is_breakpoint = call->getMetadata(marks::breakpoint) != nullptr;
            place.is_entry = call->getMetadata(marks::entry) != nullptr;
            for (const VariableFrame& frame : frames_at(call->getDebugLoc().get()))
                place.frames.push_back(variables_of(frame));
            compilation_.stops.places.push_back(std::move(place));
        }
    }

  private:
    std::uint64_t reserve(AllocaInst& storage) {
        bytes_ = alignTo(bytes_, storage.getAlign());
        alignment_ = std::max(alignment_, storage.getAlign());
        const std::uint64_t offset = bytes_;
        bytes_ += data_layout_.getTypeAllocSize(storage.getAllocatedType());
        auto* number = ConstantInt::get(Type::getInt64Ty(storage.getContext()), offset);
        storage.setMetadata(marks::in_record,
                            MDNode::get(storage.getContext(), ConstantAsMetadata::get(number)));
        return offset;
    }

    void place_variables() {
        const std::vector<Slot>& slots = variables_.slots();
        for (const Slot& slot : slots) offsets_.push_back(reserve(*slot.storage));
        IRBuilder<> builder(&*function_.getEntryBlock().begin());
        for (std::size_t i = 0; i < slots.size(); ++i) {
            flags_.push_back(builder.CreateAlloca(builder.getInt8Ty()));
            flag_offsets_.push_back(reserve(*flags_.back()));
        }
        for (unsigned i = 0; i < slots.size(); ++i) {
            set(*slots[i].description, i, 0);
            for (const auto& [offset, assignment] : slots[i].stores)
                for (const unsigned other : variables_.slots_beside(i))
                    set(*assignment->getNextNode(), other, other == i);
            for (Instruction* assignment : slots[i].other_assignments)
                for (const unsigned other : variables_.slots_beside(i))
                    set(*assignment->getNextNode(), other, other == i);
        }
    }

    /// Of several variables with one name that blocks of a function have, one is to have a value at a time:
    /// those whose blocks have been left have none.
    void forget_left_variables(const std::vector<CallInst*>& calls) {
        const std::vector<Slot>& slots = variables_.slots();
        std::map<std::tuple<const DILocation*, const DISubprogram*, StringRef>, std::vector<unsigned>>
            by_name;
        for (unsigned i = 0; i < slots.size(); ++i)
            by_name[{slots[i].inlined_at, slots[i].variable->getScope()->getSubprogram(),
                     slots[i].variable->getName()}]
                .push_back(i);
        for (const auto& [name, namesakes] : by_name) {
            const auto scope_of = [&](unsigned slot) {
                return slots[slot].variable->getScope()->getNonLexicalBlockFileScope();
            };
            if (all_of(namesakes, [&](unsigned each) { return scope_of(each) == scope_of(namesakes[0]); }))
                continue;
            for (CallInst* call : calls) {
                const DILocation* here = call->getDebugLoc().get();
                if (here == nullptr || here->getInlinedAt() != std::get<0>(name) ||
                    here->getScope()->getSubprogram() != std::get<1>(name))
                    continue;
                for (const unsigned each : namesakes)
                    if (!is_within(*here->getScope(), *scope_of(each))) set(*call, each, 0);
            }
        }
    }

    /// Whether a block is the other one, or lies in it.
    [[nodiscard]] static bool is_within(const DILocalScope& inner, const DILocalScope& outer) {
        for (const DILocalScope* scope = inner.getNonLexicalBlockFileScope(); scope != nullptr;) {
            if (scope == &outer) return true;
            const auto* block = dyn_cast<DILexicalBlockBase>(scope);
            scope = block != nullptr ? block->getScope()->getNonLexicalBlockFileScope() : nullptr;
        }
        return false;
    }

    /// What functions return, one after another, has one place.
    void place_returned_values() {
        std::vector<AllocaInst*> copies;
        std::uint64_t bytes = 0;
        Align alignment{1};
        for (Instruction& instruction : instructions(function_)) {
            auto* copy = dyn_cast<AllocaInst>(&instruction);
            if (copy == nullptr || copy->getMetadata(marks::returned) == nullptr) continue;
            copies.push_back(copy);
            bytes = std::max<std::uint64_t>(bytes, data_layout_.getTypeAllocSize(copy->getAllocatedType()));
            alignment = std::max(alignment, copy->getAlign());
        }
        if (copies.empty()) return;
        IRBuilder<> builder(&*function_.getEntryBlock().begin());
        AllocaInst* place = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), bytes));
        place->setAlignment(alignment);
        reserve(*place);
        for (AllocaInst* copy : copies) {
            copy->replaceAllUsesWith(place);
            copy->eraseFromParent();
        }
    }

    /// Arguments of the kernel before a thread has started: what is stored to their variables first.
    void describe_arguments() {
        for (const Slot& slot : variables_.slots()) {
            if (slot.variable->getArg() == 0 || slot.inlined_at != nullptr) continue;
            CapturedVariable argument = descriptions_.describe(slot, 0);
            std::set<std::uint64_t> offsets;
            for (const auto& [offset, store] : slot.stores) {
                const Value* value = store->getValueOperand();
                while (isa<ZExtInst, TruncInst>(value)) value = cast<Instruction>(value)->getOperand(0);
                const image::Parameter* parameter = parameter_of(*value, false);
                if (parameter == nullptr || !offsets.insert(offset).second) continue;
                const std::uint64_t bytes = std::min<std::uint64_t>(
                    data_layout_.getTypeStoreSize(value->getType()),
                    data_layout_.getTypeStoreSize(store->getValueOperand()->getType()));
                argument.parts.push_back({static_cast<std::uint32_t>(offset),
                                          static_cast<std::uint32_t>(bytes), PartSource::parameter,
                                          parameter->offset});
            }
            for (const User* user : slot.storage->users()) {
                const auto* copy = dyn_cast<MemCpyInst>(user);
                if (copy == nullptr || copy->getRawDest() != slot.storage) continue;
                if (const image::Parameter* parameter = parameter_of(*copy->getRawSource(), true))
                    argument.parts.push_back({0, argument.bytes, PartSource::parameter, parameter->offset});
            }
            if (!argument.parts.empty()) compilation_.stops.arguments.push_back(std::move(argument));
        }
    }

    /// @param by_value the kernel has its address; else the parameter itself
    [[nodiscard]] const image::Parameter* parameter_of(const Value& value, bool by_value) const {
        const auto* argument = dyn_cast<Argument>(&value);
        if (argument == nullptr || argument->getArgNo() < body_parameters) return nullptr;
        const unsigned index = argument->getArgNo() - body_parameters;
        if (compilation_.by_value[index] != by_value) return nullptr;
        return &compilation_.description->parameters[index];
    }

    void set(Instruction& before, unsigned slot, std::uint8_t value) {
        IRBuilder<> builder(&before);
        builder.SetCurrentDebugLocation({});
        mark_internal(*builder.CreateStore(builder.getInt8(value), flags_[slot]));
    }

    /// The threads of a loop have one record, and most kernels never assign their parameters: what the first
    /// thread has stored is what the next ones would store, unless a stop's handler has set it
    /// (FrameRecord::keeps_parameters).
    void keep_parameters(AllocaInst& record) {
        std::vector<Instruction*> prologue = code_before_first_stop();
        Instruction* end = prologue.back();
        const SmallPtrSet<const Instruction*, 32> before(prologue.begin(), prologue.end() - 1);
        std::vector<Instruction*> kept;
        for (unsigned i = 0; i < variables_.slots().size(); ++i) {
            const Slot& slot = variables_.slots()[i];
            if (variables_.slots_beside(i).size() == 1 && is_stored_once(slot, before))
                take_stores(i, prologue, kept);
        }
        if (kept.empty()) return;
        IRBuilder<> builder(end);
        builder.SetCurrentDebugLocation({});
        Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &record,
                                                          offsetof(FrameRecord, keeps_parameters));
        LoadInst* keeps = builder.CreateLoad(builder.getInt32Ty(), place);
        mark_internal(*keeps);
        Instruction* then = branch_cold(builder.CreateIsNull(keeps), end, true);
        for (Instruction* instruction : kept) instruction->moveBefore(then);
        builder.SetInsertPoint(then);
        mark_internal(*builder.CreateStore(builder.getInt32(1), place));
    }

    /// What every thread runs in front of its first statement, that statement's call last. Where a branch
    /// comes first: that.
    [[nodiscard]] std::vector<Instruction*> code_before_first_stop() const {
        std::vector<Instruction*> code;
        for (BasicBlock* block = &function_.getEntryBlock();;) {
            for (Instruction& instruction : *block) {
                code.push_back(&instruction);
                if (hook_called_by(instruction) == Hook::stop) return code;
            }
            BasicBlock* next = block->getSingleSuccessor();
            if (next == nullptr || next->getSinglePredecessor() == nullptr) return code;
            block = next;
        }
    }

    /// Whether the variable is a parameter that gets its value in front of the kernel's first statement, and
    /// no other afterwards.
    [[nodiscard]] static bool is_stored_once(const Slot& slot,
                                             const SmallPtrSetImpl<const Instruction*>& before) {
        if (slot.variable->getArg() == 0 || slot.inlined_at != nullptr || !slot.simple) return false;
        std::set<std::uint64_t> offsets;
        for (const auto& [offset, store] : slot.stores)
            if (!before.contains(store) || !offsets.insert(offset).second) return false;
        return !slot.stores.empty() && all_of(slot.storage->users(), [&](const User* user) {
            return !isa<MemSetInst>(user) || before.contains(cast<Instruction>(user));
        }) && !is_read(*slot.storage, before);
    }

    [[nodiscard]] static bool is_read(const Value& address, const SmallPtrSetImpl<const Instruction*>& by) {
        return any_of(address.users(), [&](const User* user) {
            if (isa<GetElementPtrInst>(user)) return is_read(*user, by);
            return isa<LoadInst>(user) && by.contains(cast<LoadInst>(user));
        });
    }

    /// What gives the parameter its value: what new memory is filled with, the stores, and that it has one.
    /// That it has none is not to be stored.
    void take_stores(unsigned slot, std::vector<Instruction*>& prologue,
                     std::vector<Instruction*>& kept) const {
        const Slot& parameter = variables_.slots()[slot];
        for (User* user : parameter.storage->users())
            if (auto* filling = dyn_cast<MemSetInst>(user)) kept.push_back(filling);
        for (const auto& [offset, store] : parameter.stores) kept.push_back(store);
        std::vector<Instruction*> flags;
        for (Instruction* instruction : prologue)
            if (auto* store = dyn_cast<StoreInst>(instruction);
                store && store->getPointerOperand() == flags_[slot])
                flags.push_back(store);
        kept.push_back(flags.back());
        flags.pop_back();
        for (Instruction* store : flags) {
            std::erase(prologue, store);
            store->eraseFromParent();
        }
    }

    /// Linked to the record of the function that called this one. The kernel has none.
    AllocaInst* make_record() {
        IRBuilder<> builder(&*function_.getEntryBlock().begin());
        AllocaInst* record = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), bytes_));
        record->setAlignment(alignment_);
        record->setMetadata(marks::record, MDNode::get(record->getContext(), {}));
        builder.SetInsertPoint(function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        if (&function_ == compilation_.kernel) {
            begin_thread(builder, record);
            return record;
        }
        call_hook(builder, Hook::enter, {record});
        for (BasicBlock& block : function_) {
            auto* end = dyn_cast<ReturnInst>(block.getTerminator());
            if (!end) continue;
            builder.SetInsertPoint(end);
            call_hook(builder, Hook::leave, {record});
        }
        return record;
    }

    /// What hook `enter` does in other functions.
    void begin_thread(IRBuilder<>& builder, AllocaInst* record) {
        const auto store = [&](Value* value, Value* base, std::uint64_t offset) {
            Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
            StoreInst* stored = builder.CreateStore(value, place);
            mark_internal(*stored);
            return stored;
        };
        builder.SetCurrentDebugLocation({});
        store(ConstantPointerNull::get(builder.getPtrTy()), record, offsetof(FrameRecord, caller));
        store(builder.getInt32(~std::uint32_t{0}), record, offsetof(FrameRecord, place));
        Value* thread = function_.getArg(4);
        Value* here = thread_stop(builder, function_.getArg(0), thread);
        store(record, here, offsetof(ThreadStop, innermost))
            ->setMetadata(marks::record, MDNode::get(record->getContext(), {}));
    }

    /// Of the function and of the file, in front of those that hide them.
    void add_static_variables(const VariableFrame& frame, std::vector<CapturedVariable>& variables) {
        std::vector<CapturedVariable> own;
        for (const SourceVariable& each : compilation_.source_variables) {
            const auto* scope = dyn_cast_if_present<DILocalScope>(each.description->getScope());
            if (scope != nullptr && scope->getSubprogram() == frame.function)
                own.push_back(descriptions_.describe(each));
            else if (scope == nullptr)
                variables.push_back(descriptions_.describe(each));
        }
        move(own, std::back_inserter(variables));
    }

    std::uint32_t variables_of(const VariableFrame& frame) {
        auto& frames = compilation_.stops.frames;
        const auto [known, fresh] = frames_.try_emplace(frame, static_cast<std::uint32_t>(frames.size()));
        if (!fresh) return known->second;
        frames.emplace_back();
        add_static_variables(frame, frames.back());
        const std::vector<Slot>& slots = variables_.slots();
        for (std::size_t i = 0; i < slots.size(); ++i) {
            // A compiler's own, as those behind `for (auto& each : all)`, have names that nobody knows.
            const DILocalVariable& known = *slots[i].variable;
            if (!is_of_frame(slots[i], frame) || (known.isArtificial() && known.getName() != "this"))
                continue;
            CapturedVariable variable = descriptions_.describe(slots[i], 0);
            variable.parts.push_back({0, variable.bytes, PartSource::record, offsets_[i]});
            variable.parts.push_back({assigned_flag, 1, PartSource::record, flag_offsets_[i]});
            frames.back().push_back(std::move(variable));
        }
        return known->second;
    }

    Compilation& compilation_;
    Function& function_;
    const DataLayout& data_layout_;
    VariableSlots variables_;
    VariableDescriptions descriptions_;
    std::uint64_t bytes_ = sizeof(FrameRecord);
    Align alignment_{alignof(FrameRecord)};
    std::vector<std::uint64_t> offsets_, flag_offsets_;  ///< by slot
    std::vector<AllocaInst*> flags_;                     ///< by slot
    std::map<VariableFrame, std::uint32_t> frames_;      ///< index into Stops::frames
};

}  // namespace

void lay_out_records(Compilation& compilation) {
    for (Function& function : *compilation.module)
        if (!function.isDeclaration()) RecordLayout(compilation, function).run();
}

bool takes_record(const Instruction& instruction) {
    const auto hook = hook_called_by(instruction);
    return hook == Hook::stop || hook == Hook::enter || hook == Hook::leave || hook == Hook::returned ||
           (isa<StoreInst>(instruction) && instruction.getMetadata(marks::record));
}

void merge_variables(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        AllocaInst* record = nullptr;
        std::vector<AllocaInst*> variables;
        for (Instruction& instruction : instructions(function)) {
            auto* storage = dyn_cast<AllocaInst>(&instruction);
            if (!storage) continue;
            if (storage->getMetadata(marks::record)) record = storage;
            if (storage->getMetadata(marks::in_record)) variables.push_back(storage);
        }
        if (!record) continue;
        Instruction& first = *function.getEntryBlock().begin();
        if (record != &first) record->moveBefore(&first);
        for (AllocaInst* variable : variables) {
            const MDNode* offset = variable->getMetadata(marks::in_record);
            IRBuilder<> builder(variable);
            Value* place = builder.CreateConstInBoundsGEP1_64(
                builder.getInt8Ty(), record,
                mdconst::extract<ConstantInt>(offset->getOperand(0))->getZExtValue());
            variable->replaceAllUsesWith(place);
            variable->eraseFromParent();
        }
    }
}

void number_stop_places(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        for (const CallInst* call : stop_calls(function)) {
            const auto place = cast<ConstantInt>(call->getArgOperand(2))->getZExtValue();
            const auto site = cast<ConstantInt>(call->getArgOperand(3))->getZExtValue();
            compilation.stops.places[place].site = static_cast<std::uint32_t>(site);
        }
    }
}

}  // namespace cudasim::jit
