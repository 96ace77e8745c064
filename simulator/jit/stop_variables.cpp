// See statement_stops.h: where variables lie in code that is compiled for stops.
//
//   frame record   | caller, place | variable | variable | ... | assigned? | assigned? | ...
//                  FrameRecord (abi.h)                          a byte for each variable
//
// A variable that the source assigns with several types has a place for each; the byte
// says which of them it has now.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>

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
        AllocaInst* record = make_record();
        for (CallInst* call : calls) {
            IRBuilder<> builder(call);
            call->setArgOperand(1, record);
            call->setArgOperand(
                2, builder.getInt32(static_cast<std::uint32_t>(compilation_.stops.places.size())));
            StopPlace place;
            place.is_breakpoint = call->getMetadata(marks::breakpoint) != nullptr;
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
        }
    }

    void set(Instruction& before, unsigned slot, std::uint8_t value) {
        IRBuilder<> builder(&before);
        builder.SetCurrentDebugLocation({});
        mark_internal(*builder.CreateStore(builder.getInt8(value), flags_[slot]));
    }

    /// Linked to the record of the function that called this one. The kernel has none.
    AllocaInst* make_record() {
        IRBuilder<> builder(&*function_.getEntryBlock().begin());
        AllocaInst* record = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), bytes_));
        record->setAlignment(alignment_);
        record->setMetadata(marks::record, MDNode::get(record->getContext(), {}));
        builder.SetInsertPoint(function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        if (&function_ == compilation_.kernel) {
            mark_internal(*builder.CreateStore(ConstantPointerNull::get(builder.getPtrTy()), record));
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

    std::uint32_t variables_of(const VariableFrame& frame) {
        auto& frames = compilation_.stops.frames;
        const auto [known, fresh] = frames_.try_emplace(frame, static_cast<std::uint32_t>(frames.size()));
        if (!fresh) return known->second;
        frames.emplace_back();
        const std::vector<Slot>& slots = variables_.slots();
        for (std::size_t i = 0; i < slots.size(); ++i) {
            if (!is_of_frame(slots[i], frame)) continue;
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
    return hook == Hook::stop || hook == Hook::enter || hook == Hook::leave;
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

void test_stops_in_line(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        for (CallInst* call : stop_calls(function)) {
            IRBuilder<> builder(call);
            const auto at = [&](Value* base, std::uint64_t offset) {
                return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
            };
            Type *pointer = builder.getPtrTy(), *word = builder.getInt32Ty(), *byte = builder.getInt8Ty();
            Value *context = call->getArgOperand(0), *record = call->getArgOperand(1);
            const auto site = cast<ConstantInt>(call->getArgOperand(3))->getZExtValue();
            Value* block = builder.CreateLoad(pointer, at(context, offsetof(ThreadContext, block)));
            Value* thread = builder.CreateLoad(word, at(context, offsetof(ThreadContext, thread)));
            Value* stops = builder.CreateLoad(pointer, at(block, offsetof(BlockContext, thread_stops)));
            Value* flags = builder.CreateLoad(pointer, at(block, offsetof(BlockContext, stop_flags)));
            Value* here =
                builder.CreateInBoundsGEP(byte, stops,
                                          builder.CreateMul(builder.CreateZExt(thread, builder.getInt64Ty()),
                                                            builder.getInt64(sizeof(ThreadStop))));
            builder.CreateStore(record, at(here, offsetof(ThreadStop, innermost)));
            builder.CreateStore(call->getArgOperand(3), at(here, offsetof(ThreadStop, site)));
            if (!isa<ConstantPointerNull>(record))
                builder.CreateStore(call->getArgOperand(2), at(record, offsetof(FrameRecord, place)));
            // Other host threads set the first one.
            Value* everywhere = builder.CreateLoad(byte, flags, true);
            Value* own = builder.CreateLoad(byte, at(flags, site + 1));
            Value* steps = builder.CreateLoad(word, at(here, offsetof(ThreadStop, steps)));
            // A thread that is to stop where the count says does so in the hook, too.
            Type* count_type = builder.getInt64Ty();
            Value* count = at(flags, std::uint64_t{0} - sizeof(StatementCount));
            Value* left = builder.CreateSub(builder.CreateLoad(count_type, count), builder.getInt64(1));
            builder.CreateStore(left, count);
            Value* is_last = builder.CreateZExt(builder.CreateIsNull(left), byte);
            Value* flag = builder.CreateOr(builder.CreateOr(everywhere, own), is_last);
            Value* any = builder.CreateOr(builder.CreateZExt(flag, word), steps);
            Instruction* then =
                SplitBlockAndInsertIfThen(builder.CreateIsNotNull(any), call->getIterator(), false,
                                          MDBuilder(function.getContext()).createUnlikelyBranchWeights());
            call->moveBefore(then);
        }
    }
}

}  // namespace cudasim::jit
