// See globals_placement.h.
#include "simulator/image/globals_placement.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace cudasim::image {
namespace {

constexpr std::uint64_t redzone_bytes = 32;
constexpr std::uint64_t minimum_alignment = 16;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

/// Address spaces of the NVPTX back end: 0 generic, 1 global, 4 constant.
bool is_placed(const llvm::GlobalVariable& variable) {
    const unsigned space = variable.getAddressSpace();
    return !variable.isDeclaration() && variable.getSection() != "llvm.metadata" &&
           (space == 0 || space == 1 || space == 4);
}

}  // namespace

GlobalsPlacement place_globals(llvm::Module& module) {
    GlobalsPlacement placement;
    std::uint64_t end = 0;
    for (llvm::GlobalVariable& variable : module.globals()) {
        if (!is_placed(variable)) continue;
        const std::uint64_t alignment = std::max(minimum_alignment, variable.getAlign().valueOrOne().value());
        const std::uint64_t offset = align_up(end + redzone_bytes, alignment);
        placement.offsets.emplace_back(&variable, offset);
        end = offset + module.getDataLayout().getTypeAllocSize(variable.getValueType());
    }
    if (end != 0) placement.bytes = align_up(end + redzone_bytes, minimum_alignment);
    return placement;
}

}  // namespace cudasim::image
