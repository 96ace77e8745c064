// Arrays: indexing with per-axis checks, addresses.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "frontend/pykernel/emit/emission.h"
#include "simulator/image/declared_checks.h"

namespace cudasim::pykernel {
namespace {

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
    return known_constant<llvm::ConstantInt>(wide) ? meant(checked_index) : checked_index;
}

llvm::Value* FunctionEmitter::meant(llvm::Value* check) {
    llvm::cast<llvm::Instruction>(check)->setMetadata(image::meant_mark,
                                                      llvm::MDNode::get(module.context, {}));
    return check;
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
    return address(array, checked_indices(array, index));
}

Parts FunctionEmitter::checked_indices(const Emitted& array, const Emitted& index) {
    const bool several = index.type->is(TypeKind::tuple);
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

void FunctionEmitter::for_each_chosen(const Emitted& chosen,
                                      const std::function<void(const Emitted&)>& body) {
    const TypeRef element = chosen.type->element();
    const bool mask = element->is(TypeKind::boolean);
    llvm::AllocaInst* counter = entry_alloca(builder.getInt64Ty(), "mask.index");
    builder.CreateStore(int64(0), counter);
    for_each_element(chosen, [&](llvm::Value* place) {
        const Emitted one = load_element(place, element, chosen.type);
        if (!mask) return body(one);
        llvm::Value* position = builder.CreateLoad(builder.getInt64Ty(), counter);
        builder.CreateStore(builder.CreateAdd(position, int64(1)), counter);
        llvm::BasicBlock *selected = new_block("mask.selected"), *next = new_block("mask.next");
        builder.CreateCondBr(one.value(), selected, next);
        builder.SetInsertPoint(selected);
        body(number(position, types().int64));
        builder.CreateBr(next);
        builder.SetInsertPoint(next);
    });
}

}  // namespace cudasim::pykernel
