// Tuples: elements.
#include <llvm/IR/Constants.h>

#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/infer/subscripts.h"
#include "simulator/image/declared_checks.h"

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

Emitted FunctionEmitter::tuple_item(const Emitted& tuple, const Emitted& index, TypeRef result) {
    const auto count = static_cast<std::int64_t>(tuple.type->elements.size());
    if (index.type->is(TypeKind::slice)) {
        Emitted picked{result, {}};
        for (std::size_t i : sliced_positions(tuple.type, index.type, {}))
            picked.parts.append(element_of(tuple, i).parts);
        return picked;
    }
    if (index.type->literal) {
        const std::int64_t i = *index.type->literal < 0 ? *index.type->literal + count : *index.type->literal;
        return element_of(tuple, static_cast<std::size_t>(i));
    }
    llvm::Value* wanted = check_index(index, int64(count), 0);
    llvm::cast<llvm::Instruction>(wanted)->setMetadata(image::meant_mark,
                                                       llvm::MDNode::get(module.context, {}));
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
