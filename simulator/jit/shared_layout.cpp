// Where __shared__ variables lie in a block's shared memory:
//
//   | static 0 | redzone | static 1 | redzone | ... | dynamic, as many bytes as the launch says |
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>

#include "simulator/jit/lowering.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

constexpr std::uint64_t alignment_bytes = 16;
constexpr std::uint64_t redzone_bytes = 16;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

bool is_used(const llvm::GlobalVariable& variable) {
    return any_of(variable.users(), [](const User* user) { return isa<Instruction>(user); });
}

std::string source_name(const llvm::GlobalVariable& variable) {
    SmallVector<DIGlobalVariableExpression*, 1> debug_info;
    variable.getDebugInfo(debug_info);
    const bool named = !debug_info.empty() && !debug_info.front()->getVariable()->getName().empty();
    return (named ? debug_info.front()->getVariable()->getName() : variable.getName()).str();
}

/// Elements and extents of an array, as its debug info has them.
void describe_array(const llvm::GlobalVariable& variable, SharedVariable& described) {
    SmallVector<DIGlobalVariableExpression*, 1> debug_info;
    variable.getDebugInfo(debug_info);
    if (debug_info.empty()) return;
    const auto* array = dyn_cast_or_null<DICompositeType>(debug_info.front()->getVariable()->getType());
    if (array == nullptr || array->getTag() != dwarf::DW_TAG_array_type || !array->getBaseType()) return;
    std::uint64_t count = 1;
    std::vector<std::uint64_t> extents;
    for (const DINode* element : array->getElements()) {
        const auto* range = dyn_cast<DISubrange>(element);
        const auto* extent = range ? dyn_cast_if_present<ConstantInt*>(range->getCount()) : nullptr;
        if (extent == nullptr || extent->getSExtValue() <= 0) return;
        extents.push_back(extent->getZExtValue());
        count *= extents.back();
    }
    if (extents.empty() || described.bytes % count != 0) return;
    described.extents = std::move(extents);
    described.element_bytes = described.bytes / count;
    const auto* number = dyn_cast<DIBasicType>(array->getBaseType());
    if (number == nullptr || number->getSizeInBits() != 8 * described.element_bytes) return;
    const std::string bits = std::to_string(number->getSizeInBits());
    if (number->getEncoding() == dwarf::DW_ATE_float) described.element_type = "float" + bits;
    if (number->getEncoding() == dwarf::DW_ATE_signed) described.element_type = "int" + bits;
    if (number->getEncoding() == dwarf::DW_ATE_unsigned) described.element_type = "uint" + bits;
}

}  // namespace

void lay_out_shared(Compilation& compilation) {
    auto& layout = compilation.shared;
    const auto& data_layout = compilation.module->getDataLayout();
    const std::uint64_t between = any_of(compilation.options.instrumentations,
                                         [](const Instrumentation* each) { return each->needs_redzones(); })
                                      ? redzone_bytes
                                      : 0;
    std::vector<const llvm::GlobalVariable*> dynamic;
    std::uint64_t end = 0, packed = 0;  // with and without redzones, which a real device does not have
    std::uint64_t dynamic_alignment = alignment_bytes;
    for (const auto& variable : compilation.module->globals()) {
        if (variable.getAddressSpace() != shared || !is_used(variable)) continue;
        const std::uint64_t alignment = std::max(alignment_bytes, variable.getAlign().valueOrOne().value());
        const std::uint64_t bytes = data_layout.getTypeAllocSize(variable.getValueType());
        if (variable.isDeclaration() && bytes == 0) {
            dynamic.push_back(&variable);
            dynamic_alignment = std::max(dynamic_alignment, alignment);
            continue;
        }
        const std::uint64_t offset = align_up(end + (end != 0 ? between : 0), alignment);
        layout.offsets[&variable] = offset;
        layout.variables.push_back({source_name(variable), offset, bytes});
        describe_array(variable, layout.variables.back());
        end = offset + bytes;
        packed = align_up(packed, variable.getAlign().valueOrOne().value()) + bytes;
    }
    layout.static_bytes = packed;
    layout.dynamic_offset = align_up(end + (end != 0 ? between : 0), dynamic_alignment);
    // How many bytes they have, each launch says.
    for (const auto* variable : dynamic) {
        layout.offsets[variable] = layout.dynamic_offset;
        layout.variables.push_back({source_name(*variable), layout.dynamic_offset, 0});
    }
}

}  // namespace cudasim::jit
