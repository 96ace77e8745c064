// See record_registers.h.
#include "simulator/jit/record_registers.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "simulator/jit/compilation.h"
#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Variables times calls, which is how many values meet behind calls: 1,000 take LLVM's code generation
/// about 50 ms.
constexpr std::size_t most_values = 500;

/// A scalar at a fixed place in the record.
struct Part {
    Type* type = nullptr;
    bool is_clear = true;  ///< all accesses are plain loads and stores of these bytes
    std::vector<LoadInst*> loads;
    std::vector<StoreInst*> stores;
};

/// The record's parts, where every use of the record is known.
class Parts {
  public:
    explicit Parts(AllocaInst& record) : data_layout_(record.getDataLayout()) {
        known_ = follow(record, 0);
        part_overlaps();
    }

    [[nodiscard]] bool known() const { return known_; }
    [[nodiscard]] const std::map<std::uint64_t, Part>& all() const { return parts_; }

  private:
    bool follow(Value& address, std::uint64_t offset) {
        for (User* user : address.users()) {
            if (auto* element = dyn_cast<GetElementPtrInst>(user)) {
                APInt distance(data_layout_.getIndexTypeSizeInBits(element->getType()), 0);
                if (!element->accumulateConstantOffset(data_layout_, distance)) return false;
                if (!follow(*element, offset + static_cast<std::uint64_t>(distance.getSExtValue())))
                    return false;
            } else if (auto* load = dyn_cast<LoadInst>(user)) {
                note(offset, *load->getType(), load->isSimple()).loads.push_back(load);
            } else if (auto* store = dyn_cast<StoreInst>(user)) {
                if (takes_record(*store) && store->getValueOperand() == &address) continue;
                if (store->getValueOperand() == &address) return false;
                note(offset, *store->getValueOperand()->getType(), store->isSimple()).stores.push_back(store);
            } else if (auto* filling = dyn_cast<AnyMemIntrinsic>(user)) {
                const auto* length = dyn_cast<ConstantInt>(filling->getLength());
                if (length == nullptr) return false;
                written_.emplace_back(offset, length->getZExtValue());
            } else if (!takes_record(*cast<Instruction>(user)) &&
                       !cast<Instruction>(user)->isLifetimeStartOrEnd()) {
                return false;
            }
        }
        return true;
    }

    /// Zeros of any type may be stored as an integer, for one.
    Part& note(std::uint64_t offset, Type& type, bool is_simple) {
        Part& part = parts_[offset];
        if (part.type == nullptr) part.type = &type;
        part.is_clear &= is_simple && CastInst::isBitOrNoopPointerCastable(&type, part.type, data_layout_);
        if (data_layout_.getTypeStoreSize(&type) > data_layout_.getTypeStoreSize(part.type))
            part.type = &type;
        return part;
    }

    [[nodiscard]] std::uint64_t end_of(std::uint64_t offset, const Part& part) const {
        return offset + data_layout_.getTypeStoreSize(part.type).getFixedValue();
    }

    /// What is accessed as a part of something else, or together with it, stays in memory.
    void part_overlaps() {
        std::uint64_t end = 0;
        Part* longest = nullptr;  // of those before, the one that ends last
        for (auto& [offset, part] : parts_) {
            if (longest != nullptr && offset < end) part.is_clear = longest->is_clear = false;
            if (const std::uint64_t here = end_of(offset, part); here > end) {
                end = here;
                longest = &part;
            }
            for (const auto& [first, bytes] : written_)
                if (offset < first + bytes && first < end_of(offset, part)) part.is_clear = false;
        }
    }

    const DataLayout& data_layout_;
    bool known_ = false;
    std::map<std::uint64_t, Part> parts_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> written_;  ///< by fillings and copies
};

AllocaInst* record_of(Function& function) {
    AllocaInst* found = nullptr;
    for (Instruction& instruction : function.getEntryBlock()) {
        auto* storage = dyn_cast<AllocaInst>(&instruction);
        if (storage == nullptr || !storage->getMetadata(marks::record)) continue;
        if (found != nullptr) return nullptr;
        found = storage;
    }
    return found;
}

}  // namespace

RecordRegisters::RecordRegisters(Function& function) : function_(function) {}

void RecordRegisters::make(std::size_t calls) {
    AllocaInst* record = record_of(function_);
    if (record == nullptr) return;
    const Parts parts(*record);
    if (!parts.known()) return;
    DominatorTree dominators(function_);
    const LoopInfo loops(dominators);
    std::vector<std::pair<unsigned, std::uint64_t>> wanted;  // how deep in loops, and where in the record
    for (const auto& [offset, part] : parts.all()) {
        if (offset < sizeof(FrameRecord) || !part.is_clear || part.loads.empty()) continue;
        unsigned depth = 0;
        for (const LoadInst* load : part.loads)
            depth = std::max(depth, loops.getLoopDepth(load->getParent()));
        wanted.emplace_back(depth, offset);
    }
    std::ranges::stable_sort(wanted, std::greater(), &std::pair<unsigned, std::uint64_t>::first);
    wanted.resize(std::min(wanted.size(), most_values / std::max<std::size_t>(calls, 1)));
    std::vector<std::uint64_t> offsets;
    for (const auto& [depth, offset] : wanted) {
        const Part& part = parts.all().at(offset);
        IRBuilder<> builder(record);
        Variable& variable = variables_.emplace_back();
        variable.type = part.type;
        variable.storage = builder.CreateAlloca(part.type);
        registers_.push_back(variable.storage);
        offsets.push_back(offset);
        for (StoreInst* store : part.stores) {
            builder.SetInsertPoint(store->getNextNode());
            Value* value = builder.CreateBitOrPointerCast(store->getValueOperand(), part.type);
            builder.CreateStore(value, variable.storage);
        }
        for (LoadInst* load : part.loads) {
            builder.SetInsertPoint(load);
            Value* value = builder.CreateLoad(part.type, variable.storage);
            load->replaceAllUsesWith(builder.CreateBitOrPointerCast(value, load->getType()));
            load->eraseFromParent();
        }
    }
    // Passes move storage about, and code that belongs to other storage can lie in front of the record.
    Instruction* begin = record->getNextNode();
    while (isa<AllocaInst>(begin)) begin = begin->getNextNode();
    IRBuilder<> builder(begin);
    for (std::size_t i = 0; i < offsets.size(); ++i)
        variables_[i].address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), record, offsets[i]);
    load_again(*begin);
}

void RecordRegisters::load_again(Instruction& before) {
    IRBuilder<> builder(&before);
    for (const Variable& variable : variables_) {
        loads_.push_back(builder.CreateAlignedLoad(variable.type, variable.address, Align(1)));
        builder.CreateStore(loads_.back(), variable.storage);
    }
}

void RecordRegisters::remove_unread() {
    for (LoadInst* load : loads_)
        if (load->use_empty()) load->eraseFromParent();
    loads_.clear();
}

}  // namespace cudasim::jit
