// See local_variables.h.
#include "simulator/jit/local_variables.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "simulator/jit/captured_variables.h"
#include "simulator/jit/compilation.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

constexpr std::uint64_t redzone_bytes = 32;
/// Marks an area with redzones: !{i64 bytes of the variable}. Where the variable is the frame record:
/// !{i64 bytes of the variable, i64 where it begins in the area}.
constexpr const char* protected_bytes = "cudasim.protected";

/// Calls visit(variable, offset) for all that an address may be: local variables, with what has been
/// added. False when it may be something else, or the offset is not constant.
template <typename Visit>
bool for_each_local(const Value& address, std::int64_t offset, SmallPtrSetImpl<const Value*>& joins,
                    const Visit& visit) {
    constexpr unsigned most_joins = 8;
    if (const auto* local = dyn_cast<AllocaInst>(&address)) return visit(*local, offset);
    if (const auto* element = dyn_cast<GetElementPtrInst>(&address)) {
        APInt distance(64, 0);
        return element->accumulateConstantOffset(element->getDataLayout(), distance) &&
               for_each_local(*element->getPointerOperand(), offset + distance.getSExtValue(), joins, visit);
    }
    const auto* choice = dyn_cast<SelectInst>(&address);
    const auto* join = dyn_cast<PHINode>(&address);
    // In a circle of joins the offset could grow: such a join is left out.
    if ((!choice && !join) || joins.size() == most_joins || !joins.insert(&address).second) return false;
    const auto follow = [&](const Value* each) { return for_each_local(*each, offset, joins, visit); };
    if (choice) return follow(choice->getTrueValue()) && follow(choice->getFalseValue());
    return all_of(join->incoming_values(), [&](const Use& each) { return follow(each.get()); });
}

/// Follows a local variable's address as long as every use is one we understand: an access that lies
/// inside of whatever variable it goes to.
class AddressUses {
  public:
    explicit AddressUses(const AllocaInst& local) : local_(local), data_layout_(local.getDataLayout()) {}

    bool all_understood() { return understood(local_); }

  private:
    bool understood(const Value& address) {
        return all_of(address.uses(), [&](const Use& use) { return understood(use); });
    }

    bool understood(const Use& use) {
        const auto& user = *cast<Instruction>(use.getUser());
        if (isa<GetElementPtrInst>(user)) return understood(user);
        if (isa<PHINode, SelectInst>(user)) return !joins_.insert(&user).second || understood(user);
        // As the value of a variable, which a report shows.
        if (isa<PtrToIntInst>(user)) return all_of(user.users(), is_capture_user);
        if (isa<ICmpInst>(user) || is_capture(user) || takes_record(user)) return true;
        const bool checked = needs_no_memory_check(user);
        if (checked && isa<CallInst>(user)) return true;
        if (const auto* load = dyn_cast<LoadInst>(&user))
            return checked || inside(use, data_layout_.getTypeStoreSize(load->getType()), load->getAlign());
        if (const auto* store = dyn_cast<StoreInst>(&user)) {
            if (store->getValueOperand() == use.get()) return false;
            return checked || inside(use, data_layout_.getTypeStoreSize(store->getValueOperand()->getType()),
                                     store->getAlign());
        }
        if (const auto* fill = dyn_cast<MemIntrinsic>(&user)) {
            const auto* bytes = dyn_cast<ConstantInt>(fill->getLength());
            return checked || (bytes && inside(use, bytes->getZExtValue(), Align(1)));
        }
        return false;
    }

    static bool is_capture_user(const User* user) { return is_capture(*user); }

    static bool inside(const Use& use, std::uint64_t bytes, Align alignment) {
        return lies_inside_locals(*use.get(), bytes, alignment.value());
    }

    const AllocaInst& local_;
    const DataLayout& data_layout_;
    SmallPtrSet<const Value*, 8> joins_;  ///< that were followed
};

}  // namespace

std::uint64_t bytes_of_variable(const AllocaInst& local) {
    if (const MDNode* node = local.getMetadata(protected_bytes))
        return mdconst::extract<ConstantInt>(node->getOperand(0))->getZExtValue();
    const auto size = local.getAllocationSize(local.getDataLayout());
    return size ? size->getFixedValue() : 0;
}

std::optional<std::uint64_t> offset_of_record(const AllocaInst& local) {
    if (local.getMetadata(marks::record) != nullptr) return 0;
    const MDNode* node = local.getMetadata(protected_bytes);
    if (node == nullptr || node->getNumOperands() < 2) return std::nullopt;
    return mdconst::extract<ConstantInt>(node->getOperand(1))->getZExtValue();
}

bool lies_inside(const AllocaInst& local, std::uint64_t offset, std::uint64_t bytes,
                 std::uint64_t alignment) {
    const auto size = local.getAllocationSize(local.getDataLayout());
    return size && offset + bytes <= size->getFixedValue() && local.getAlign().value() >= alignment &&
           offset % alignment == 0;
}

bool lies_inside_locals(const Value& address, std::uint64_t bytes, std::uint64_t alignment) {
    SmallPtrSet<const Value*, 8> joins;
    return for_each_local(address, 0, joins, [&](const AllocaInst& local, std::int64_t offset) {
        return offset >= 0 && lies_inside(local, static_cast<std::uint64_t>(offset), bytes, alignment);
    });
}

void LocalVariables::protect() {
    std::vector<AllocaInst*> exposed;
    for (Instruction& instruction : instructions(function_)) {
        auto* local = dyn_cast<AllocaInst>(&instruction);
        if (local && !AddressUses(*local).all_understood()) exposed.push_back(local);
    }
    if (exposed.empty()) return;
    for (BasicBlock& block : function_) {
        if (auto* end = dyn_cast<ReturnInst>(block.getTerminator())) returns_.push_back(end);
    }
    for (AllocaInst* local : exposed) protect(*local);
}

void LocalVariables::protect(AllocaInst& local) {
    const std::uint64_t bytes = local.getAllocationSize(local.getDataLayout())->getFixedValue();
    const std::uint64_t padded = (bytes + redzone_bytes - 1) / redzone_bytes * redzone_bytes;
    IRBuilder<> builder(&local);
    const auto* subprogram = function_.getSubprogram();
    const DebugLoc place = subprogram ? DILocation::get(local.getContext(), subprogram->getLine(), 0,
                                                        const_cast<DISubprogram*>(subprogram))
                                      : nullptr;
    builder.SetCurrentDebugLocation(place);
    const Align alignment = std::max(local.getAlign(), Align(redzone_bytes));
    const std::uint64_t before = std::max<std::uint64_t>(redzone_bytes, alignment.value());
    auto* area = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), before + padded + redzone_bytes));
    area->setAlignment(alignment);
    area->takeName(&local);
    area->setDebugLoc(local.getDebugLoc());
    SmallVector<Metadata*, 2> layout{ConstantAsMetadata::get(builder.getInt64(bytes))};
    if (local.getMetadata(marks::record) != nullptr)
        layout.push_back(ConstantAsMetadata::get(builder.getInt64(before)));
    area->setMetadata(protected_bytes, MDNode::get(local.getContext(), layout));
    Value* variable = builder.CreateConstGEP1_64(builder.getInt8Ty(), area, before);
    local.replaceAllUsesWith(variable);
    Value* address = builder.CreatePtrToInt(variable, builder.getInt64Ty());
    call_hook(builder, Hook::local_begin, {address, builder.getInt64(bytes)});
    for (ReturnInst* end : returns_) {
        builder.SetInsertPoint(end);
        builder.SetCurrentDebugLocation(place);
        call_hook(builder, Hook::local_end, {address, builder.getInt64(bytes)});
    }
    local.eraseFromParent();
}

}  // namespace cudasim::jit
