// See captured_variables.h. This file finds the variables and what of them is known where.
#include "simulator/jit/captured_variables.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>

#include "simulator/jit/cold_values.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/variable_descriptions.h"
#include "simulator/jit/variable_slots.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Attribute of a capture that precedes a memory access and not a hook.
constexpr const char* for_access = "cudasim.for_access";

/// Larger variables (long strings, large tuples) are shown as optimised out.
constexpr std::size_t most_parts = 24;
/// Most elements of a local array that are captured one by one.
constexpr std::size_t most_elements = 64;
/// Bounds for huge kernels, which get no values beyond: bits of the data flow, values that captures mention.
constexpr std::uint64_t most_bits = 1 << 26;
constexpr std::size_t most_operands = 50000;
/// And variables that captures describe, with or without values.
constexpr std::size_t most_descriptions = 200'000;

FunctionCallee capture_function(Module& module) {
    auto& context = module.getContext();
    auto* type = FunctionType::get(Type::getVoidTy(context), {Type::getInt32Ty(context)}, /*isVarArg=*/true);
    auto callee = module.getOrInsertFunction(capture_symbol, type);
    auto* function = cast<Function>(callee.getCallee());
    function->setDoesNotThrow();
    function->setWillReturn();
    // The effects of hooks that check and mostly return (hook_calls.cpp): memory has to be up to date at the
    // call.
    function->setMemoryEffects(MemoryEffects(ModRefInfo::Ref) | MemoryEffects::inaccessibleMemOnly());
    function->addFnAttr(Attribute::Cold);
    return callee;
}

struct ScalarPart {
    std::uint64_t offset;
    Type* type;
};

/// The numbers and pointers that a type consists of; false when it is something else, or too many.
bool scalar_parts(Type* type, std::uint64_t offset, const DataLayout& data_layout,
                  std::vector<ScalarPart>& parts, std::size_t most = most_parts) {
    if (parts.size() >= most) return false;
    if (auto* structure = dyn_cast<StructType>(type)) {
        const StructLayout* layout = data_layout.getStructLayout(structure);
        for (unsigned i = 0; i < structure->getNumElements(); ++i) {
            if (!scalar_parts(structure->getElementType(i), offset + layout->getElementOffset(i), data_layout,
                              parts, most))
                return false;
        }
        return true;
    }
    if (auto* array = dyn_cast<ArrayType>(type)) {
        const std::uint64_t step = data_layout.getTypeAllocSize(array->getElementType());
        for (std::uint64_t i = 0; i < array->getNumElements(); ++i)
            if (!scalar_parts(array->getElementType(), offset + i * step, data_layout, parts, most))
                return false;
        return true;
    }
    if (!type->isIntegerTy() && !type->isFloatingPointTy() && !type->isPointerTy()) return false;
    if (data_layout.getTypeStoreSize(type) > 8) return false;
    parts.push_back({offset, type});
    return true;
}

class CaptureBuilder {
  public:
    CaptureBuilder(Compilation& compilation, Function& function)
        : compilation_(compilation),
          function_(function),
          data_layout_(function.getDataLayout()),
          variables_(function),
          dominators_(function),
          descriptions_of_(compilation.captures.types, data_layout_) {}

    void run() {
        const auto& slots = variables_.slots();
        if (!slots.empty() && slots.size() * function_.size() <= most_bits) {
            add_flags();
            variables_.walk([&](Instruction& instruction, const VariableSlots::Assigned& assigned) {
                if (can_fault(instruction)) insert(instruction, assigned);
            });
        } else {
            for (Instruction& instruction : instructions(function_)) {
                if (can_fault(instruction)) insert(instruction, {});
            }
        }
        for (Instruction& instruction : instructions(function_)) instruction.dropDbgRecords();
    }

  private:
    /// Where a variable may have been assigned or not, a flag tells; it is nothing but constants on the edges
    /// of the flow graph.
    void add_flags() {
        const auto& slots = variables_.slots();
        BitVector uncertain(static_cast<unsigned>(slots.size()));
        variables_.walk([&](Instruction& instruction, const VariableSlots::Assigned& assigned) {
            if (!can_fault(instruction)) return;
            BitVector here = assigned.possibly;
            uncertain |= here.reset(assigned.certainly);
        });
        flags_.resize(slots.size());
        IRBuilder<> builder(&*function_.getEntryBlock().begin());
        for (const unsigned slot : uncertain.set_bits())
            flags_[slot] = builder.CreateAlloca(builder.getInt8Ty());
        const auto set = [&](Instruction& before, unsigned slot, std::uint8_t value) {
            if (!flags_[slot]) return;
            IRBuilder<> store(&before);
            store.SetCurrentDebugLocation({});
            store.CreateStore(store.getInt8(value), flags_[slot]);
        };
        for (unsigned slot = 0; slot < slots.size(); ++slot) {
            set(*slots[slot].description, slot, 0);
            for (const auto& [offset, assignment] : slots[slot].stores) {
                for (const unsigned other : variables_.slots_beside(slot))
                    set(*assignment->getNextNode(), other, other == slot);
            }
        }
    }

    static bool is_access(const Instruction& instruction) {
        if (needs_no_memory_check(instruction)) return false;
        const Value* address = nullptr;
        if (const auto* load = dyn_cast<LoadInst>(&instruction))
            address = load->getPointerOperand();
        else if (const auto* store = dyn_cast<StoreInst>(&instruction))
            address = store->getPointerOperand();
        else if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction))
            address = update->getPointerOperand();
        else if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
            address = exchange->getPointerOperand();
        else
            return isa<MemIntrinsic>(instruction);
        return !isa<AllocaInst>(getUnderlyingObject(address));
    }

    static bool can_fault(const Instruction& instruction) {
        switch (hook_called_by(instruction).value_or(Hook::barrier)) {
            case Hook::index_fault:
            case Hook::index_wraps:
            case Hook::fault:
            case Hook::raise:
            case Hook::float_division:
            case Hook::access_check:
            case Hook::bad_call:
                return true;
            default:
                return is_access(instruction);
        }
    }

    void insert(Instruction& at, const VariableSlots::Assigned& assigned) {
        IRBuilder<> builder(&at);
        builder.SetCurrentDebugLocation(at.getDebugLoc());
        std::vector<CapturedVariable> described;
        SmallVector<Value*, 16> operands{
            builder.getInt32(static_cast<std::uint32_t>(compilation_.capture_calls.size()))};
        const std::vector<VariableFrame> frames = frames_at(at.getDebugLoc().get());
        for (const unsigned index : assigned.possibly.set_bits()) {
            if (descriptions_ >= most_descriptions) break;
            const Slot& slot = variables_.slots()[index];
            for (std::uint32_t frame = 0; frame < frames.size(); ++frame) {
                if (!is_of_frame(slot, frames[frame])) continue;
                described.push_back(descriptions_of_.describe(slot, frame));
                if (operands_ >= most_operands) continue;
                add_parts(slot, assigned.certainly[index], described.back(), operands, builder);
                if (assigned.certainly[index]) continue;
                auto* flag = builder.CreateLoad(builder.getInt8Ty(), flags_[index]);
                mark_internal(*flag);
                described.back().parts.push_back({assigned_flag, 1, PartSource::slot, operands.size()});
                operands.push_back(flag);
            }
        }
        operands_ += operands.size();
        descriptions_ += described.size();
        compilation_.capture_calls.push_back(std::move(described));
        CallInst* call = builder.CreateCall(capture_function(*function_.getParent()), operands);
        call->addFnAttr(Attribute::NoMerge);
        for (unsigned i = 1; i < call->arg_size(); ++i)
            if (call->getArgOperand(i)->getType()->isPointerTy()) call->addParamAttr(i, Attribute::NoCapture);
        if (!hook_called_by(at)) call->setMetadata(for_access, MDNode::get(call->getContext(), {}));
    }

    /// Values become arguments of the capture; a part's `value` is the argument's index until
    /// lower_captures().
    void add_parts(const Slot& slot, bool assigned, CapturedVariable& variable,
                   SmallVectorImpl<Value*>& operands, IRBuilder<>& builder) {
        std::vector<ScalarPart> parts;
        if (!scalar_parts(slot.storage->getAllocatedType(), 0, data_layout_, parts)) return;
        for (const ScalarPart& scalar : parts) {
            CapturedPart part;
            part.offset = static_cast<std::uint32_t>(scalar.offset);
            part.bytes = static_cast<std::uint32_t>(data_layout_.getTypeStoreSize(scalar.type));
            Value* value = value_of(slot, scalar, assigned, builder);
            if (const auto offset = parameter_offset(*value)) {
                part.source = PartSource::parameter;
                part.value = *offset;
            } else if (auto* local = dyn_cast<AllocaInst>(value->stripPointerCasts())) {
                add_local_array(*local, variable, part, operands, builder);
            } else if (!value->getType()->isPointerTy() || !isa<AllocaInst>(getUnderlyingObject(value))) {
                part.source = PartSource::slot;
                part.value = operands.size();
                operands.push_back(value);
            }
            variable.parts.push_back(part);
        }
    }

    /// A capture that had the address of a local array would keep it out of registers, so of a small one it
    /// has the elements.
    void add_local_array(AllocaInst& local, CapturedVariable& variable, CapturedPart& pointer,
                         SmallVectorImpl<Value*>& operands, IRBuilder<>& builder) {
        std::vector<ScalarPart> elements;
        if (!scalar_parts(local.getAllocatedType(), 0, data_layout_, elements, most_elements)) {
            pointer.source = PartSource::slot;
            pointer.value = operands.size();
            operands.push_back(&local);
            return;
        }
        for (const ScalarPart& element : elements) {
            Value* address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &local, element.offset);
            auto* value = builder.CreateAlignedLoad(element.type, address,
                                                    commonAlignment(local.getAlign(), element.offset));
            mark_internal(*value);
            const auto bytes = static_cast<std::uint32_t>(data_layout_.getTypeStoreSize(element.type));
            variable.parts.push_back({variable.bytes + static_cast<std::uint32_t>(element.offset), bytes,
                                      PartSource::slot, operands.size()});
            operands.push_back(value);
        }
    }

    /// What was stored, where that is one store for certain, else what the slot has.
    /// A part's only store can lie behind the place: one store to any part makes the slot assigned.
    Value* value_of(const Slot& slot, const ScalarPart& part, bool assigned, IRBuilder<>& builder) const {
        StoreInst* only = nullptr;
        std::size_t stores = 0;
        for (const auto& [offset, store] : slot.stores) {
            if (offset != part.offset) continue;
            only = store;
            ++stores;
        }
        if (assigned && slot.simple && stores == 1 && only->getValueOperand()->getType() == part.type &&
            dominators_.dominates(only, &*builder.GetInsertPoint()))
            return only->getValueOperand();
        Value* address = part.offset == 0 ? slot.storage
                                          : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(),
                                                                               slot.storage, part.offset);
        auto* value = builder.CreateAlignedLoad(part.type, address,
                                                commonAlignment(slot.storage->getAlign(), part.offset));
        mark_internal(*value);
        return value;
    }

    std::optional<std::uint64_t> parameter_offset(const Value& value) const {
        const auto* argument = dyn_cast<Argument>(&value);
        if (!argument || argument->getParent() != compilation_.kernel ||
            argument->getArgNo() < body_parameters)
            return std::nullopt;
        const unsigned index = argument->getArgNo() - body_parameters;
        if (compilation_.by_value[index]) return std::nullopt;
        return compilation_.description->parameters[index].offset;
    }

    Compilation& compilation_;
    Function& function_;
    const DataLayout& data_layout_;
    VariableSlots variables_;
    DominatorTree dominators_;
    std::vector<AllocaInst*> flags_;  ///< by slot
    VariableDescriptions descriptions_of_;
    std::size_t operands_ = 0, descriptions_ = 0;
};

}  // namespace

AllocaInst* described_slot(const DbgRecord& record) {
    auto* variable =
        dyn_cast<DbgVariableRecord>(const_cast<DbgRecord*>(&record));  // LLVM's queries are not const
    return variable && variable->isDbgDeclare() ? dyn_cast_or_null<AllocaInst>(variable->getAddress())
                                                : nullptr;
}

/// Of a parameter that copy_parameters_by_value() makes a local variable of.
static bool is_of_parameter_by_value(const DbgRecord& record) {
    auto* variable = dyn_cast<DbgVariableRecord>(const_cast<DbgRecord*>(&record));
    if (!variable || !variable->isDbgDeclare()) return false;
    const auto* parameter = dyn_cast_or_null<Argument>(variable->getAddress());
    return parameter && parameter->hasByValAttr();
}

void gather_variable_descriptions(Function& function) {
    SmallVector<DbgRecord*, 16> descriptions;
    for (Instruction& instruction : instructions(function)) {
        for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
            if (described_slot(record) || is_of_parameter_by_value(record)) {
                record.removeFromParent();
                descriptions.push_back(&record);
            } else {
                record.eraseFromParent();
            }
        }
    }
    // Code of clang's begins in the entry block itself; other front ends have nothing but initial zeros
    // there.
    BasicBlock& entry = function.getEntryBlock();
    BasicBlock::iterator place = entry.getTerminator()->getIterator();
    const DISubprogram* program = function.getSubprogram();
    if (program != nullptr &&
        dwarf::isCPlusPlus(static_cast<dwarf::SourceLanguage>(program->getUnit()->getSourceLanguage())))
        place = find_if(entry, [](const Instruction& each) { return !isa<AllocaInst>(each); });
    for (DbgRecord* record : descriptions) entry.insertDbgRecordBefore(record, place);
}

void insert_captures(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        if (!function.isDeclaration()) CaptureBuilder(compilation, function).run();
    }
}

bool is_capture(const Value& value) {
    const auto* call = dyn_cast<CallInst>(&value);
    const auto* callee = call ? dyn_cast<Function>(call->getCalledOperand()) : nullptr;
    return callee && callee->getName() == capture_symbol;
}

CallInst* capture_before(const Instruction& access) {
    for (const Instruction* before = access.getPrevNode(); before; before = before->getPrevNode()) {
        if (is_capture(*before) && before->getMetadata(for_access))
            return const_cast<CallInst*>(cast<CallInst>(before));
        if (before->mayReadOrWriteMemory()) return nullptr;
    }
    return nullptr;
}

void copy_capture(const CallInst& capture, Instruction& before) {
    Instruction* copy = capture.clone();
    copy->setMetadata(for_access, nullptr);
    copy->insertBefore(&before);
}

void drop_captures_of_accesses(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        for (Instruction& instruction : make_early_inc_range(instructions(function))) {
            if (is_capture(instruction) && instruction.getMetadata(for_access)) instruction.eraseFromParent();
        }
    }
}

}  // namespace cudasim::jit
