// See shared_addresses.h.
#include "frontend/cuda_cpp/images/shared_addresses.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace cudasim::cuda_cpp {
namespace {

constexpr unsigned shared_space = 3;  // NVPTX

bool mentions_shared(const llvm::Constant& value) {
    if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value))
        return variable->getAddressSpace() == shared_space;
    if (llvm::isa<llvm::GlobalValue>(value)) return false;
    return llvm::any_of(value.operands(), [](const llvm::Use& operand) {
        return mentions_shared(*llvm::cast<llvm::Constant>(operand.get()));
    });
}

/// Addresses in a constant, by their offset.
using Addresses = std::vector<std::pair<std::uint64_t, llvm::Constant*>>;

/// The constant with null for what mentions a shared variable.
llvm::Constant* without_shared(llvm::Constant* value, std::uint64_t offset, const llvm::DataLayout& layout,
                               Addresses& addresses) {
    if (!mentions_shared(*value)) return value;
    if (!llvm::isa<llvm::ConstantStruct, llvm::ConstantArray>(value)) {
        addresses.emplace_back(offset, value);
        return llvm::Constant::getNullValue(value->getType());
    }
    auto* structure = llvm::dyn_cast<llvm::StructType>(value->getType());
    std::vector<llvm::Constant*> elements;
    for (unsigned i = 0; i < value->getNumOperands(); ++i) {
        auto* element = llvm::cast<llvm::Constant>(value->getOperand(i));
        const std::uint64_t at = structure
                                     ? layout.getStructLayout(structure)->getElementOffset(i).getFixedValue()
                                     : i * layout.getTypeAllocSize(element->getType()).getFixedValue();
        elements.push_back(without_shared(element, offset + at, layout, addresses));
    }
    if (structure) return llvm::ConstantStruct::get(structure, elements);
    return llvm::ConstantArray::get(llvm::cast<llvm::ArrayType>(value->getType()), elements);
}

/// The copies of the whole constant, if it has no other use.
std::vector<llvm::MemCpyInst*> copies_of(const llvm::GlobalVariable& constant, std::uint64_t bytes) {
    std::vector<llvm::MemCpyInst*> copies;
    for (const llvm::User* user : constant.users()) {
        auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(const_cast<llvm::User*>(user));
        const auto* length = copy ? llvm::dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
        if (length == nullptr || copy->getRawSource() != &constant || length->getZExtValue() != bytes)
            return {};
        copies.push_back(copy);
    }
    return copies;
}

}  // namespace

void store_shared_addresses(llvm::Module& module) {
    const llvm::DataLayout& layout = module.getDataLayout();
    for (llvm::GlobalVariable& constant : module.globals()) {
        if (!constant.isConstant() || !constant.hasLocalLinkage() || !constant.hasInitializer()) continue;
        if (!mentions_shared(*constant.getInitializer())) continue;
        const auto copies = copies_of(constant, layout.getTypeAllocSize(constant.getValueType()));
        if (copies.empty()) continue;
        Addresses addresses;
        constant.setInitializer(without_shared(constant.getInitializer(), 0, layout, addresses));
        for (llvm::MemCpyInst* copy : copies) {
            llvm::IRBuilder<> builder(copy->getNextNode());
            builder.SetCurrentDebugLocation(copy->getDebugLoc());
            for (const auto& [offset, address] : addresses) {
                llvm::Value* place =
                    builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), copy->getRawDest(), offset);
                builder.CreateAlignedStore(address, place,
                                           llvm::commonAlignment(copy->getDestAlign().valueOrOne(), offset));
            }
        }
    }
}

}  // namespace cudasim::cuda_cpp
