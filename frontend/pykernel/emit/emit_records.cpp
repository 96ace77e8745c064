// Records: fields at their offsets, copies of whole records. The value of a record is its address.
#include <algorithm>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {
namespace {

/// Alignment in bytes, by which C and NumPy's align=True lay out records.
std::uint64_t alignment_of(TypeRef type) {
    if (type->is(TypeKind::array)) return alignment_of(type->element());
    if (type->is(TypeKind::characters)) return type->dimensions;
    if (!type->is(TypeKind::record)) return type->bytes();
    std::uint64_t alignment = 1;
    for (const RecordField& field : type->fields) {
        if (type->aligned && field.type) alignment = std::max(alignment, alignment_of(field.type));
    }
    return alignment;
}

}  // namespace

llvm::Value* FunctionEmitter::field_address(const Emitted& object, const RecordField& field) {
    return builder.CreateConstGEP1_64(builder.getInt8Ty(), object.parts[0], field.offset);
}

Emitted FunctionEmitter::get_field(const Emitted& object, const RecordField& field, TypeRef result) {
    llvm::Value* place = field_address(object, field);
    std::vector<llvm::Value*> shape;
    for (std::int64_t extent : field.shape) shape.push_back(int64(extent));
    if (result->is(TypeKind::array)) {
        // Behind the axes of an array of records come those of the field.
        const Emitted one = make_array(result, place, shape);
        const auto inner = static_cast<std::ptrdiff_t>(shape.size());
        const auto outer =
            static_cast<std::ptrdiff_t>(object.type->is(TypeKind::array) ? object.type->dimensions : 0);
        const auto extents = object.parts.begin() + 1, fields = one.parts.begin() + 1;
        Emitted array{result, {place}};
        array.parts.append(extents, extents + outer);
        array.parts.append(fields, fields + inner);
        array.parts.append(extents + outer, extents + 2 * outer);
        array.parts.append(fields + inner, fields + 2 * inner);
        return array;
    }
    return load_element(place, result, object.type);
}

void FunctionEmitter::copy_record(llvm::Value* place, const Emitted& record, TypeRef type) {
    builder.CreateMemCpy(place, llvm::Align(alignment_of(type)), record.value(),
                         llvm::Align(std::min(alignment_of(type), alignment_of(record.type))), type->bytes());
}

/// Copies elements in C order. Both arrays have the same element type; a ValueError is raised where their
/// sizes differ.
void FunctionEmitter::copy_elements(const Emitted& target, const Emitted& source, TypeRef element) {
    require(builder.CreateICmpEQ(array_size(target), array_size(source)), "ValueError",
            "cannot assign slice from input of different size");
    llvm::AllocaInst* counter = entry_alloca(builder.getInt64Ty(), "copy.index");
    builder.CreateStore(int64(0), counter);
    for_each_element(target, [&](llvm::Value* place) {
        llvm::Value* position = builder.CreateLoad(builder.getInt64Ty(), counter);
        builder.CreateStore(builder.CreateAdd(position, int64(1)), counter);
        store_element(place, load_element(flat_address(source, position), element, source.type),
                      target.type->element(), target.type);
    });
}

}  // namespace cudasim::pykernel
