// Tuples: elements.
#include <llvm/IR/Constants.h>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

Emitted FunctionEmitter::element_of(const Emitted& tuple, std::size_t index) {
    std::size_t first = 0;
    llvm::SmallVector<llvm::Type*> parts;
    for (std::size_t i = 0; i <= index; ++i) {
        first += parts.size();
        parts.clear();
        module.part_types(tuple.type->elements[i], false, parts);
    }
    return {tuple.type->elements[index], Parts(llvm::ArrayRef(tuple.parts).slice(first, parts.size()))};
}

Emitted FunctionEmitter::any_element_of(const Emitted& tuple, const Emitted& index, TypeRef result) {
    const auto count = static_cast<std::int64_t>(tuple.type->elements.size());
    llvm::Value* wanted = meant(check_index(index, int64(count), 0));
    Emitted chosen = convert(element_of(tuple, 0), result);
    for (std::int64_t i = 1; i < count; ++i) {
        const Emitted other = convert(element_of(tuple, static_cast<std::size_t>(i)), result);
        llvm::Value* here = builder.CreateICmpEQ(wanted, int64(i));
        for (std::size_t part = 0; part < chosen.parts.size(); ++part) {
            chosen.parts[part] = builder.CreateSelect(here, other.parts[part], chosen.parts[part]);
        }
    }
    return chosen;
}

}  // namespace cudasim::pykernel
