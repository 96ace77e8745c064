// See memory_accesses.h.
#include "simulator/jit/memory_accesses.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

using namespace llvm;

std::vector<MemoryAccess> memory_accesses_of(Instruction& instruction, const DataLayout& data_layout) {
    auto fixed = [&](Value* address, Type* type, Align alignment, std::uint32_t flags) {
        return MemoryAccess{&instruction,      address, nullptr, data_layout.getTypeStoreSize(type),
                            alignment.value(), flags};
    };
    if (auto* load = dyn_cast<LoadInst>(&instruction)) {
        const std::uint32_t flags = load->isAtomic() ? access_atomic : access_read;
        return {fixed(load->getPointerOperand(), load->getType(), load->getAlign(), flags)};
    }
    if (auto* store = dyn_cast<StoreInst>(&instruction)) {
        const std::uint32_t flags = access_write | (store->isAtomic() ? access_atomic : 0U);
        return {
            fixed(store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign(), flags)};
    }
    if (auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
        return {fixed(update->getPointerOperand(), update->getType(), update->getAlign(),
                      access_write | access_atomic)};
    }
    if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
        return {fixed(exchange->getPointerOperand(), exchange->getNewValOperand()->getType(),
                      exchange->getAlign(), access_write | access_atomic)};
    }
    if (auto* fill = dyn_cast<MemIntrinsic>(&instruction)) {
        std::vector<MemoryAccess> both{{&instruction, fill->getRawDest(), fill->getLength(), 0,
                                        fill->getDestAlign().valueOrOne().value(), access_write}};
        if (auto* copy = dyn_cast<MemTransferInst>(fill)) {
            both.push_back({&instruction, copy->getRawSource(), copy->getLength(), 0,
                            copy->getSourceAlign().valueOrOne().value(), access_read});
        }
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
