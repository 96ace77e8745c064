// See slot_promotion.h. For each part of a variable, the assignments that reach its loads are looked up in
// the dominator tree (simulator/image/dominance.h).
#include "simulator/jit/slot_promotion.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "simulator/image/dominance.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Variables times blocks from which on a function is large: about 50 ms of mem2reg.
constexpr std::size_t large_function = 1'000'000;

/// A scalar at a fixed place in a variable.
struct Part {
    Type* type;
    std::vector<LoadInst*> loads;
    std::vector<StoreInst*> stores;
};

/// What uses a variable, where all of it is loads and stores of its parts, and fillings of the whole with one
/// byte.
class Variable {
  public:
    explicit Variable(AllocaInst& storage) : storage_(&storage), data_layout_(&storage.getDataLayout()) {
        const auto size = storage.getAllocationSize(*data_layout_);
        bytes_ = size ? size->getFixedValue() : 0;
        understood_ = size && collect(storage, 0) && parts_are_apart();
    }

    [[nodiscard]] bool understood() const { return understood_; }
    [[nodiscard]] bool is_read() const {
        return std::ranges::any_of(parts_, [](const auto& part) { return !part.second.loads.empty(); });
    }
    [[nodiscard]] const std::map<std::uint64_t, Part>& parts() const { return parts_; }

    [[nodiscard]] const std::vector<MemSetInst*>& fillings() const { return fillings_; }

    /// What a part has after a filling.
    [[nodiscard]] Constant* filled(const Part& part, const MemSetInst& filling) const {
        const auto bits = static_cast<unsigned>(data_layout_->getTypeSizeInBits(part.type));
        const auto stored_bits = static_cast<unsigned>(data_layout_->getTypeStoreSizeInBits(part.type));
        const APInt byte = cast<ConstantInt>(filling.getValue())->getValue();
        auto* pattern =
            ConstantInt::get(part.type->getContext(), APInt::getSplat(stored_bits, byte).trunc(bits));
        if (part.type->isPointerTy()) return ConstantExpr::getIntToPtr(pattern, part.type);
        return ConstantExpr::getBitCast(pattern, part.type);
    }

    void erase() {
        for (auto& [offset, part] : parts_) {
            for (StoreInst* store : part.stores) store->eraseFromParent();
        }
        for (MemSetInst* filling : fillings_) filling->eraseFromParent();
        for (GetElementPtrInst* address : reverse(addresses_)) address->eraseFromParent();
        storage_->eraseFromParent();
        storage_ = nullptr;
    }
    [[nodiscard]] bool is_erased() const { return !storage_; }

  private:
    bool collect(Instruction& address, std::uint64_t offset) {
        for (User* user : address.users()) {
            if (auto* load = dyn_cast<LoadInst>(user)) {
                if (!load->isSimple() || !add(offset, load->getType())) return false;
                parts_[offset].loads.push_back(load);
            } else if (auto* store = dyn_cast<StoreInst>(user)) {
                if (!store->isSimple() || store->getValueOperand() == &address ||
                    !add(offset, store->getValueOperand()->getType()))
                    return false;
                parts_[offset].stores.push_back(store);
            } else if (auto* element = dyn_cast<GetElementPtrInst>(user)) {
                APInt distance(64, 0);
                if (!element->accumulateConstantOffset(*data_layout_, distance) || distance.isNegative())
                    return false;
                addresses_.push_back(element);
                if (!collect(*element, offset + distance.getZExtValue())) return false;
            } else if (auto* filling = dyn_cast<MemSetInst>(user)) {
                if (offset != 0 || !fills_all(*filling)) return false;
                fillings_.push_back(filling);
            } else {
                return false;
            }
        }
        return true;
    }

    bool fills_all(const MemSetInst& filling) const {
        const auto* length = dyn_cast<ConstantInt>(filling.getLength());
        return !filling.isVolatile() && length && length->getZExtValue() == bytes_ &&
               isa<ConstantInt>(filling.getValue());
    }

    bool add(std::uint64_t offset, Type* type) {
        const bool scalar = type->isPointerTy() || type->isFloatingPointTy() || type->isIntegerTy();
        return scalar && parts_.try_emplace(offset, Part{type, {}, {}}).first->second.type == type;
    }

    bool parts_are_apart() const {
        std::uint64_t end = 0;
        for (const auto& [offset, part] : parts_) {
            if (offset < end) return false;
            end = offset + data_layout_->getTypeStoreSize(part.type);
        }
        return end <= bytes_;
    }

    AllocaInst* storage_;
    const DataLayout* data_layout_;
    std::uint64_t bytes_ = 0;
    bool understood_ = false;
    std::vector<MemSetInst*> fillings_;
    std::vector<GetElementPtrInst*> addresses_;  ///< each before those made of it
    std::map<std::uint64_t, Part> parts_;        ///< by offset
};

/// The blocks of a function that are reached, with their numbers.
class Blocks {
  public:
    explicit Blocks(Function& function) {
        for (BasicBlock& block : function) {
            numbers_[&block] = static_cast<image::BlockNumber>(all_.size());
            all_.push_back(&block);
        }
        for (BasicBlock* block : ReversePostOrderTraversal<Function*>(&function))
            order_.push_back(number(*block));
        reached_.resize(all_.size());
        for (image::BlockNumber block : order_) reached_[block] = true;
        std::vector<std::vector<image::BlockNumber>> before(all_.size());
        for (image::BlockNumber block : order_) {
            for (BasicBlock* predecessor : predecessors(all_[block])) {
                if (is_reached(*predecessor)) before[block].push_back(number(*predecessor));
            }
        }
        dominance_.emplace(order_, before);
    }

    [[nodiscard]] image::BlockNumber number(const BasicBlock& block) const { return numbers_.lookup(&block); }
    [[nodiscard]] BasicBlock& operator[](image::BlockNumber number) const { return *all_[number]; }
    [[nodiscard]] bool is_reached(const BasicBlock& block) const { return reached_[number(block)]; }
    [[nodiscard]] const image::Dominance& dominance() const { return *dominance_; }

  private:
    std::vector<BasicBlock*> all_;
    std::vector<image::BlockNumber> order_;
    std::vector<bool> reached_;
    DenseMap<const BasicBlock*, image::BlockNumber> numbers_;
    std::optional<image::Dominance> dominance_;
};

/// The values of one part of a variable at the beginnings of blocks.
class PartValues {
  public:
    /// at_end: the value last assigned in each block that assigns one.
    PartValues(const Blocks& blocks, const Part& part, const std::vector<image::BlockNumber>& assigned,
               const DenseMap<const BasicBlock*, Value*>& at_end)
        : blocks_(blocks), part_(part), at_end_(at_end), definitions_(blocks.dominance(), assigned) {}

    Value* at_begin(BasicBlock& block) {
        if (!blocks_.is_reached(block)) return unassigned();
        Value* value = value_of(definitions_.at_begin(blocks_.number(block)));
        while (!unfinished_.empty()) {
            PHINode* phi = unfinished_.pop_back_val();
            for (BasicBlock* predecessor : predecessors(phi->getParent())) {
                phi->addIncoming(blocks_.is_reached(*predecessor)
                                     ? value_of(definitions_.at_end(blocks_.number(*predecessor)))
                                     : unassigned(),
                                 predecessor);
            }
        }
        return value;
    }

  private:
    Value* unassigned() const { return PoisonValue::get(part_.type); }

    Value* value_of(image::Definitions::Reaching reaching) {
        if (reaching.block == image::no_block) return unassigned();
        BasicBlock& block = blocks_[reaching.block];
        if (!reaching.is_join) return at_end_.lookup(&block);
        PHINode*& phi = phis_[&block];
        if (!phi) {
            const DebugLoc place = block.getFirstNonPHI()->getDebugLoc();
            phi = PHINode::Create(part_.type, 2, part_.loads.front()->getName(), block.begin());
            phi->setDebugLoc(place);
            unfinished_.push_back(phi);
        }
        return phi;
    }

    const Blocks& blocks_;
    const Part& part_;
    const DenseMap<const BasicBlock*, Value*>& at_end_;
    image::Definitions definitions_;
    DenseMap<const BasicBlock*, PHINode*> phis_;
    SmallVector<PHINode*, 8> unfinished_;  ///< without their incoming values
};

class Promotion {
  public:
    explicit Promotion(Function& function) : blocks_(function) {
        unsigned place = 0;
        for (BasicBlock& block : function) {
            for (Instruction& instruction : block) places_[&instruction] = place++;
        }
    }

    void promote(Variable& variable) {
        for (const auto& [offset, part] : variable.parts()) {
            if (!part.loads.empty()) replace_loads(variable, part);
        }
        variable.erase();
    }

  private:
    struct Access {
        unsigned place;
        BasicBlock* block;
        LoadInst* load;  ///< null: an assignment
        Value* assigned;
    };

    void replace_loads(const Variable& variable, const Part& part) {
        DenseMap<const Value*, Value*> replaced;
        std::vector<LoadInst*> from_before;  // what they load comes from other blocks
        std::vector<image::BlockNumber> assigning;
        DenseMap<const BasicBlock*, Value*> at_end;
        const std::vector<Access> accesses = in_order(variable, part);
        for (auto access = accesses.begin(); access != accesses.end();) {
            BasicBlock* block = access->block;
            Value* current = nullptr;
            for (; access != accesses.end() && access->block == block; ++access) {
                if (!access->load)
                    current = access->assigned;
                else if (current)
                    replaced[access->load] = current;
                else
                    from_before.push_back(access->load);
            }
            if (!current || !blocks_.is_reached(*block)) continue;
            assigning.push_back(blocks_.number(*block));
            at_end[block] = current;
        }
        PartValues values(blocks_, part, assigning, at_end);
        DenseMap<BasicBlock*, Value*> at_begin;
        for (LoadInst* load : from_before) {
            const auto [known, fresh] = at_begin.try_emplace(load->getParent(), nullptr);
            if (fresh) known->second = values.at_begin(*load->getParent());
            replaced[load] = known->second;
        }
        for (LoadInst* load : part.loads) load->replaceAllUsesWith(replaced[load] = last(replaced, *load));
        for (LoadInst* load : part.loads) load->eraseFromParent();
    }

    /// What a load is replaced by may be a load that is replaced itself; a circle of them is code that
    /// nothing reaches.
    static Value* last(const DenseMap<const Value*, Value*>& replaced, LoadInst& load) {
        Value* value = &load;
        for (unsigned steps = 0; steps <= replaced.size(); ++steps) {
            const auto next = replaced.find(value);
            if (next == replaced.end()) return value;
            value = next->second;
        }
        return PoisonValue::get(load.getType());
    }

    std::vector<Access> in_order(const Variable& variable, const Part& part) const {
        std::vector<Access> accesses;
        const auto add = [&](Instruction& at, LoadInst* load, Value* assigned) {
            accesses.push_back({places_.lookup(&at), at.getParent(), load, assigned});
        };
        for (LoadInst* load : part.loads) add(*load, load, nullptr);
        for (StoreInst* store : part.stores) add(*store, nullptr, store->getValueOperand());
        for (MemSetInst* filling : variable.fillings())
            add(*filling, nullptr, variable.filled(part, *filling));
        std::ranges::sort(accesses, {}, &Access::place);
        return accesses;
    }

    Blocks blocks_;
    DenseMap<const Instruction*, unsigned> places_;  ///< blocks follow each other
};

}  // namespace

void promote_slots(Function& function) {
    std::vector<Variable> variables;
    for (Instruction& instruction : function.getEntryBlock()) {
        if (auto* storage = dyn_cast<AllocaInst>(&instruction)) variables.emplace_back(*storage);
    }
    std::erase_if(variables, [](const Variable& variable) { return !variable.understood(); });
    for (Variable& variable : variables) {
        if (!variable.is_read()) variable.erase();
    }
    std::erase_if(variables, [](const Variable& variable) { return variable.is_erased(); });
    if (variables.size() * function.size() < large_function) return;
    Promotion promotion(function);
    for (Variable& variable : variables) promotion.promote(variable);
}

}  // namespace cudasim::jit
