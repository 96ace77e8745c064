// Tuples: elements, comparison, membership.
#include <llvm/IR/Constants.h>

#include <algorithm>

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

llvm::Value* FunctionEmitter::tuples_equal(const Emitted& left, const Emitted& right) {
    llvm::Value* equal = builder.getInt1(left.type->elements.size() == right.type->elements.size());
    const std::size_t shared = std::min(left.type->elements.size(), right.type->elements.size());
    for (std::size_t i = 0; i < shared; ++i) {
        const Emitted pair = binary(Operator::equal, element_of(left, i), element_of(right, i));
        equal = builder.CreateAnd(equal, pair.value());
    }
    return equal;
}

/// Lexicographic: the first pair that is not equal decides, else the lengths.
Emitted FunctionEmitter::compare_tuples(Operator op, const Emitted& left, const Emitted& right) {
    if (op == Operator::equal || op == Operator::is)
        return number(tuples_equal(left, right), types().boolean);
    if (op == Operator::not_equal || op == Operator::is_not)
        return number(builder.CreateNot(tuples_equal(left, right)), types().boolean);
    const std::size_t a = left.type->elements.size(), b = right.type->elements.size();
    const bool by_length = op == Operator::less         ? a < b
                           : op == Operator::less_equal ? a <= b
                           : op == Operator::greater    ? a > b
                                                        : a >= b;
    llvm::Value* result = builder.getInt1(by_length);
    for (std::size_t i = std::min(a, b); i-- > 0;) {
        const Emitted x = element_of(left, i), y = element_of(right, i);
        llvm::Value* equal = binary(Operator::equal, x, y).value();
        result = builder.CreateSelect(equal, result, binary(op, x, y).value());
    }
    return number(result, types().boolean);
}

}  // namespace cudasim::pykernel
