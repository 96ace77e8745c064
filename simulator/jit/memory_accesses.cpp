// See memory_accesses.h.
#include "simulator/jit/memory_accesses.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

using namespace llvm;

std::vector<MemoryAccess> memory_accesses_of(Instruction& instruction, const DataLayout& data_layout) {
    const auto fixed = [&](Value* address, Type* type, Align alignment, std::uint32_t flags,
                           AtomicOrdering ordering, bool is_volatile) {
        MemoryAccess access{&instruction};
        access.address = address;
        access.fixed_bytes = data_layout.getTypeStoreSize(type);
        access.alignment = alignment.value();
        access.flags = flags | (ordering == AtomicOrdering::NotAtomic ? 0U : access_atomic);
        access.order = access.order_on_failure = memory_order(ordering);
        access.scope = image::scope_of(instruction);
        access.is_volatile = is_volatile;
        return access;
    };
    if (auto* load = dyn_cast<LoadInst>(&instruction)) {
        return {fixed(load->getPointerOperand(), load->getType(), load->getAlign(), access_read,
                      load->getOrdering(), load->isVolatile())};
    }
    if (auto* store = dyn_cast<StoreInst>(&instruction)) {
        return {fixed(store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign(),
                      access_write, store->getOrdering(), store->isVolatile())};
    }
    if (auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
        return {fixed(update->getPointerOperand(), update->getType(), update->getAlign(), access_write,
                      update->getOrdering(), update->isVolatile())};
    }
    if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
        MemoryAccess access =
            fixed(exchange->getPointerOperand(), exchange->getNewValOperand()->getType(),
                  exchange->getAlign(), access_write, exchange->getSuccessOrdering(), exchange->isVolatile());
        access.order_on_failure = memory_order(exchange->getFailureOrdering());
        return {access};
    }
    if (auto* fill = dyn_cast<MemIntrinsic>(&instruction)) {
        const auto range = [&](Value* address, MaybeAlign alignment, std::uint32_t flags) {
            MemoryAccess access{&instruction};
            access.address = address;
            access.bytes = fill->getLength();
            access.alignment = alignment.valueOrOne().value();
            access.flags = flags;
            access.is_volatile = fill->isVolatile();
            return access;
        };
        std::vector<MemoryAccess> both{range(fill->getRawDest(), fill->getDestAlign(), access_write)};
        if (auto* copy = dyn_cast<MemTransferInst>(fill))
            both.push_back(range(copy->getRawSource(), copy->getSourceAlign(), access_read));
        return both;
    }
    return {};
}

std::optional<std::uint64_t> constant_bytes(const MemoryAccess& access) {
    if (!access.bytes) return access.fixed_bytes;
    const auto* number = dyn_cast<ConstantInt>(access.bytes);
    return number ? std::optional(number->getZExtValue()) : std::nullopt;
}

PlaceInObject place_in_object(Value* address, const DataLayout& data_layout) {
    APInt offset(64, 0);
    Value* base = address;
    while (auto* element = dyn_cast<GEPOperator>(base)) {
        const auto* instruction = dyn_cast<Instruction>(element);
        if (instruction && instruction->getMetadata(marks::variable)) break;
        if (!element->accumulateConstantOffset(data_layout, offset))
            return {getUnderlyingObject(address, 0), std::nullopt};
        base = element->getPointerOperand();
    }
    return {base, offset.getSExtValue()};
}

std::optional<ImageVariable> variable_at(const Value* object) {
    const auto* instruction = dyn_cast<Instruction>(object);
    const MDNode* node = instruction ? instruction->getMetadata(marks::variable) : nullptr;
    if (!node) return std::nullopt;
    return ImageVariable{
        mdconst::extract<ConstantInt>(node->getOperand(0))->getZExtValue(),
        static_cast<unsigned>(mdconst::extract<ConstantInt>(node->getOperand(1))->getZExtValue())};
}

std::optional<ImageVariable> variable_behind(Value* address) {
    while (auto* element = dyn_cast<GEPOperator>(address)) {
        if (const auto variable = variable_at(element)) return variable;
        address = element->getPointerOperand();
    }
    return std::nullopt;
}

}  // namespace cudasim::jit
