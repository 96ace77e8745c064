// Arrays: attributes, indexing with per-axis checks, addresses.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "frontend/pykernel/emit/characters.h"
#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/infer/subscripts.h"
#include "frontend/pykernel/types/number_limits.h"
#include "simulator/image/declared_checks.h"

namespace cudasim::pykernel {
namespace {

Emitted emit_limit(FunctionEmitter& e, TypeRef limits, std::string_view name, TypeRef result) {
    if (result->is(TypeKind::floating)) {
        return e.number(
            llvm::ConstantFP::get(e.module.value_type(result), *real_limit(limits->element(), name)), result);
    }
    return e.number(e.int64(*integer_limit(limits->element(), name)), result);
}

llvm::Intrinsic::ID special_register(std::string_view which, char axis) {
    using namespace llvm::Intrinsic;
    const auto pick = [&](ID x, ID y, ID z) { return axis == 'x' ? x : axis == 'y' ? y : z; };
    if (which == "cuda.threadIdx")
        return pick(nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_tid_z);
    if (which == "cuda.blockIdx")
        return pick(nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y, nvvm_read_ptx_sreg_ctaid_z);
    if (which == "cuda.blockDim")
        return pick(nvvm_read_ptx_sreg_ntid_x, nvvm_read_ptx_sreg_ntid_y, nvvm_read_ptx_sreg_ntid_z);
    return pick(nvvm_read_ptx_sreg_nctaid_x, nvvm_read_ptx_sreg_nctaid_y, nvvm_read_ptx_sreg_nctaid_z);
}

}  // namespace

Emitted FunctionEmitter::get_attribute(const Emitted& object, const Instruction& in) {
    const std::string& name = in.text;
    if (const auto added = specialisation_.resolutions.find(in.id);
        added != specialisation_.resolutions.end())
        return call_resolved(added->second, {&object, 1});
    if (object.type->is(TypeKind::dim3)) {
        return number(dim3_element(object, name[0]), in.type);
    }
    if (object.type->is(TypeKind::vector))
        return number(object.parts[std::string_view("xyzw").find(name)], in.type);
    if (object.type->is(TypeKind::limits)) return emit_limit(*this, object.type, name, in.type);
    if (in.type->is(TypeKind::method)) return {in.type, object.parts};
    if (object.type->is(TypeKind::method))  // a.ctypes.data
        return number(builder.CreatePtrToInt(object.parts[0], builder.getInt64Ty()), in.type);
    if (object.type->is(TypeKind::member)) return {in.type, object.parts};
    if (const auto found = std::ranges::find(object.type->names, name); found != object.type->names.end())
        return element_of(object, static_cast<std::size_t>(found - object.type->names.begin()));
    if (is_field(object.type, name))
        return get_field(object, *named_field(object.type, name, in.location), in.type);
    if (object.type->is(TypeKind::complex)) return number(object.parts[name == "real" ? 0 : 1], in.type);
    if (object.type->is_number()) {
        if (name == "real") return convert(object, in.type);
        return number(llvm::Constant::getNullValue(module.value_type(in.type)), in.type);
    }
    if (object.type->is(TypeKind::data_type)) return object;
    if (object.type->is(TypeKind::range) || object.type->is(TypeKind::slice))
        return number(object.parts[name == "start" ? 0 : name == "stop" ? 1 : 2], in.type);
    if (object.type->is(TypeKind::array) && object.type->element()->is(TypeKind::complex) &&
        (name == "real" || name == "imag")) {
        Emitted components{in.type, object.parts};
        llvm::Type* component = module.value_type(in.type->element());
        if (name == "imag")
            components.parts[0] = builder.CreateConstInBoundsGEP1_64(component, object.parts[0], 1);
        return components;
    }
    const bool same_parts = in.type->is(TypeKind::flat) || name == "real";
    if (same_parts) return {in.type, object.parts};
    const unsigned n = object.type->dimensions;
    if (name == "shape") return {in.type, Parts(object.parts.begin() + 1, object.parts.begin() + 1 + n)};
    if (name == "strides") return {in.type, Parts(object.parts.begin() + 1 + n, object.parts.end())};
    if (name == "size") return number(array_size(object), in.type);
    const std::int64_t item_bytes = object.type->element()->bits / 8;
    if (name == "itemsize") return number(int64(item_bytes), in.type);
    if (name == "nbytes") return number(builder.CreateMul(array_size(object), int64(item_bytes)), in.type);
    if (name == "ndim") return number(int64(n), in.type);
    if (name == "dtype") return {in.type, {}};
    Emitted result{in.type, {object.parts[0]}};  // T
    for (unsigned i = 0; i < n; ++i) result.parts.push_back(object.parts[n - i]);
    for (unsigned i = 0; i < n; ++i) result.parts.push_back(object.parts[2 * n - i]);
    return result;
}

llvm::Value* FunctionEmitter::dim3_element(const Emitted& indices, char axis) {
    return builder.CreateIntrinsic(special_register(indices.type->global->text, axis), {}, {});
}

llvm::Value* FunctionEmitter::array_size(const Emitted& array) {
    llvm::Value* size = nullptr;
    for (unsigned i = 1; i <= array.type->dimensions; ++i) {
        size = size ? builder.CreateMul(size, array.parts[i]) : array.parts[i];
    }
    return size ? size : int64(1);
}

Emitted FunctionEmitter::make_array(TypeRef type, llvm::Value* data, std::span<llvm::Value* const> shape) {
    Emitted result{type, {data}};
    result.parts.append(shape.begin(), shape.end());
    Parts strides(shape.size());
    llvm::Value* stride = int64(type->element()->bits / 8);
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = stride;
        const auto times = [&](llvm::Value* whole, llvm::Value* count) -> llvm::Value* {
            auto* extent = llvm::dyn_cast<llvm::ConstantInt>(count);
            auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(whole);
            if (extent && bytes) return int64(extent->getSExtValue() * bytes->getSExtValue());
            return i > 0 ? builder.CreateMul(whole, count) : whole;
        };
        stride = each_way(shape[i], [&](llvm::Value* count) {
            return each_way(stride, [&](llvm::Value* whole) { return times(whole, count); });
        });
    }
    result.parts.append(strides);
    return result;
}

void FunctionEmitter::checked(llvm::Instruction* access, TypeRef container) {
    if (container->indices_guard_memory())
        access->setMetadata(image::in_bounds_mark, llvm::MDNode::get(module.context, {}));
}

llvm::Value* FunctionEmitter::check_index(const Emitted& index, llvm::Value* size, unsigned axis) {
    const bool is_unsigned = index.type->bits == 64 && !index.type->is_signed;
    llvm::Value* wide = convert(index, is_unsigned ? types().uint64 : types().int64).value();
    llvm::Value* checked_index =
        call(is_unsigned ? "__cudasim_check_unsigned_index" : "__cudasim_check_index", builder.getInt64Ty(),
             {wide, size, builder.getInt32(axis)});
    if (known_constant<llvm::ConstantInt>(wide))
        llvm::cast<llvm::Instruction>(checked_index)
            ->setMetadata(image::meant_mark, llvm::MDNode::get(module.context, {}));
    return checked_index;
}

/// Row- and column-major arrays are addressed by element, so that the optimiser sees unit strides.
llvm::Value* FunctionEmitter::address(const Emitted& array, std::span<llvm::Value* const> indices) {
    const TypeRef type = array.type;
    const unsigned n = type->dimensions;
    const unsigned used = static_cast<unsigned>(indices.size());
    if (used == 0) return array.parts[0];
    llvm::Value* offset = nullptr;
    if (type->layout != 'A' && used == n) {
        for (unsigned i = 0; i < n; ++i) {
            const unsigned axis = type->layout == 'C' ? i : n - 1 - i;
            offset = offset
                         ? builder.CreateAdd(builder.CreateMul(offset, array.parts[1 + axis]), indices[axis])
                         : indices[axis];
        }
        llvm::Type* element = module.memory_type(type->element());
        return type->indices_guard_memory() ? builder.CreateInBoundsGEP(element, array.parts[0], offset)
                                            : builder.CreateGEP(element, array.parts[0], offset);
    }
    for (unsigned i = 0; i < used; ++i) {
        llvm::Value* step = builder.CreateMul(indices[i], array.parts[1 + n + i]);
        offset = offset ? builder.CreateAdd(offset, step) : step;
    }
    // Strides that come from outside may be anything.
    return type->layout == 'A' || !type->indices_guard_memory()
               ? builder.CreateGEP(builder.getInt8Ty(), array.parts[0], offset)
               : builder.CreateInBoundsGEP(builder.getInt8Ty(), array.parts[0], offset);
}

llvm::Value* FunctionEmitter::element_address(const Emitted& array, const Emitted& index) {
    if (const auto indices = integer_indices(array, index)) return address(array, *indices);
    return select(array, index, types().array_like(array.type, array.type->element(), 0, 'C')).parts[0];
}

/// The checked indices, when the index is integers only.
std::optional<Parts> FunctionEmitter::integer_indices(const Emitted& array, const Emitted& index) {
    const bool several = index.type->is(TypeKind::tuple);
    for (TypeRef part : index_parts(index.type)) {
        if (!part->is(TypeKind::integer)) return std::nullopt;
    }
    Parts indices;
    const std::size_t count = several ? index.type->elements.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
        const Emitted one = several ? element_of(index, i) : index;
        indices.push_back(check_index(one, array.parts[1 + i], static_cast<unsigned>(i)));
    }
    return indices;
}

Emitted FunctionEmitter::item_at(const Emitted& array, std::span<llvm::Value* const> indices,
                                 TypeRef result) {
    llvm::Value* place = address(array, indices);
    if (!result->is(TypeKind::array)) return load_element(place, result, array.type);
    const auto used = static_cast<std::ptrdiff_t>(indices.size());
    const auto n = static_cast<std::ptrdiff_t>(array.type->dimensions);
    Emitted view{result, {place}};
    view.parts.append(array.parts.begin() + 1 + used, array.parts.begin() + 1 + n);
    view.parts.append(array.parts.begin() + 1 + n + used, array.parts.end());
    return view;
}

Emitted FunctionEmitter::get_item(const Emitted& container, const Emitted& index, TypeRef result) {
    if (container.type->is(TypeKind::tuple)) return tuple_item(container, index, result);
    if (container.type->is(TypeKind::characters)) {
        llvm::Value* checked_index = check_index(index, characters_length(*this, container), 0);
        llvm::cast<llvm::Instruction>(checked_index)
            ->setMetadata(image::meant_mark, llvm::MDNode::get(module.context, {}));
        return convert(number(character_at(*this, container, checked_index), types().uint64), result);
    }
    if (container.type->is(TypeKind::flat))
        return load_element(flat_item(container, index), result, container.type->element());
    if (const RecordField* field = indexed_field(container.type, index.type, {}))
        return get_field(container, *field, result);
    if (container.type->is(TypeKind::pointer))
        return load_element(pointer_item(container, index), result, container.type);
    if (const auto indices = integer_indices(container, index)) return item_at(container, *indices, result);
    return select(container, index, result);
}

llvm::Value* FunctionEmitter::flat_item(const Emitted& flat, const Emitted& index) {
    llvm::Value* size = array_size({flat.type->element(), flat.parts});
    return flat_address(flat, check_index(index, size, 0));
}

llvm::Value* FunctionEmitter::pointer_item(const Emitted& pointer, const Emitted& index) {
    llvm::Value* distance = convert(index, types().int64).value();
    return builder.CreateGEP(module.memory_type(pointer.type->element()), pointer.value(), distance);
}

void FunctionEmitter::set_item(const Emitted& container, const Emitted& index, const Emitted& value) {
    if (index.type->is(TypeKind::array)) return assign_selected(container, index, value);
    if (const RecordField* field = indexed_field(container.type, index.type, {}))
        return set_field(container, *field, value);
    if (container.type->is(TypeKind::pointer)) {
        const TypeRef element = container.type->element();
        return store_element(pointer_item(container, index), convert(value, element), element,
                             container.type);
    }
    const bool flat = container.type->is(TypeKind::flat);
    const TypeRef array = flat ? container.type->element() : container.type;
    const TypeRef target = flat ? array->element() : indexed_array(types(), array, index.type, Location{});
    if (target->is(TypeKind::array)) return assign_view(get_item(container, index, target), value);
    // The value is converted before the index is checked, as Python evaluates it first. A record is copied
    // from where it is.
    const Emitted converted = target->is(TypeKind::record) ? value : convert(value, target);
    store_element(flat ? flat_item(container, index) : element_address(container, index), converted, target,
                  array);
}

/// `a[indices] = value` and `a[mask] = value`: one after another.
void FunctionEmitter::assign_selected(const Emitted& array, const Emitted& chosen, const Emitted& value) {
    const TypeRef element = chosen.type->element();
    const bool mask = element->is(TypeKind::boolean);
    llvm::AllocaInst* counter = entry_alloca(builder.getInt64Ty(), "mask.index");
    builder.CreateStore(int64(0), counter);
    for_each_element(chosen, [&](llvm::Value* place) {
        const Emitted one = load_element(place, element, chosen.type);
        if (!mask) return set_item(array, one, value);
        llvm::Value* position = builder.CreateLoad(builder.getInt64Ty(), counter);
        builder.CreateStore(builder.CreateAdd(position, int64(1)), counter);
        llvm::BasicBlock *selected = new_block("mask.selected"), *next = new_block("mask.next");
        builder.CreateCondBr(one.value(), selected, next);
        builder.SetInsertPoint(selected);
        set_item(array, number(position, types().int64), value);
        builder.CreateBr(next);
        builder.SetInsertPoint(next);
    });
}

/// `x, y = a`: the array must have as many rows as there are names.
Emitted FunctionEmitter::unpack_array(const Emitted& array, const Instruction& in) {
    if (in.index == 0) {
        const std::string count = std::to_string(in.count);
        require(builder.CreateICmpSGE(array.parts[1], int64(in.count)), "ValueError",
                "need more values to unpack: " + count + " names, but the array is shorter");
        require(builder.CreateICmpSLE(array.parts[1], int64(in.count)), "ValueError",
                "too many values to unpack (expected " + count + ")");
    }
    return item_at(array, std::array<llvm::Value*, 1>{int64(in.index)}, in.type);
}

}  // namespace cudasim::pykernel
