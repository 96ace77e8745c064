// See ufunc_arrays.h. Rules: NumPy's broadcasting, and its "same_kind" for what a result may be stored as.
#include "frontend/pykernel/calls/ufunc_arrays.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

namespace cudasim::pykernel {
namespace {

bool is_array(TypeRef type) {
    return type && type->is(TypeKind::array);
}

std::vector<TypeRef> elements_of(std::span<const TypeRef> operands) {
    std::vector<TypeRef> elements;
    for (TypeRef type : operands) elements.push_back(is_array(type) ? type->element() : type);
    return elements;
}

/// NumPy's can_cast(from, to, "same_kind").
bool same_kind(TypeRef from, TypeRef to) {
    auto rank = [](TypeRef type) {
        if (type->is(TypeKind::boolean)) return 0;
        if (type->is(TypeKind::integer)) return type->is_signed ? 2 : 1;
        return type->is(TypeKind::floating) ? 3 : 4;
    };
    return rank(from) <= rank(to);
}

/// What the ufunc means for numbers is the one operation of its code.
TypeRef scalar_result(const CallTyping& call, TypeRule scalar) {
    const auto operands = std::span(call.arguments).first(call.size() - 1);
    Resolution& one = call.resolution.inner.emplace_back();
    one.result = scalar({call.program, call.callable, call.call, one, elements_of(operands)});
    return one.result;
}

/// One operand as the loops over the output see it.
struct Operand {
    Emitted value;
    Parts strides;  ///< in bytes, one for each axis of the output; empty: a number
};

/// An axis of one element is repeated, any other has the output's extent.
Operand broadcast(FunctionEmitter& e, const Emitted& value, const Emitted& out) {
    Operand operand{value, {}};
    if (!value.type->is(TypeKind::array)) return operand;
    const unsigned axes = value.type->dimensions, out_axes = out.type->dimensions;
    const char* problem = "operands could not be broadcast together with the shape of the output array";
    if (axes > out_axes) {
        e.require(e.builder.getFalse(), "ValueError", problem);
        operand.strides.append(out_axes, e.int64(0));
        return operand;
    }
    operand.strides.append(out_axes - axes, e.int64(0));
    for (unsigned i = 0; i < axes; ++i) {
        llvm::Value *extent = value.parts[1 + i], *wanted = out.parts[1 + out_axes - axes + i];
        llvm::Value* repeats = e.builder.CreateICmpEQ(extent, e.int64(1));
        e.require(e.builder.CreateOr(repeats, e.builder.CreateICmpEQ(extent, wanted)), "ValueError", problem);
        operand.strides.push_back(e.builder.CreateSelect(repeats, e.int64(0), value.parts[1 + axes + i]));
    }
    return operand;
}

llvm::Value* address(FunctionEmitter& e, const Operand& operand,
                     std::span<llvm::AllocaInst* const> positions) {
    llvm::Value* place = operand.value.parts[0];
    for (std::size_t axis = 0; axis < positions.size(); ++axis) {
        llvm::Value* position = e.builder.CreateLoad(e.builder.getInt64Ty(), positions[axis]);
        place = e.builder.CreateGEP(e.builder.getInt8Ty(), place,
                                    e.builder.CreateMul(position, operand.strides[axis]));
    }
    return place;
}

/// One loop for each axis of the array.
void for_each_position(FunctionEmitter& e, const Emitted& array,
                       const std::function<void(std::span<llvm::AllocaInst* const>)>& body) {
    llvm::SmallVector<llvm::AllocaInst*> positions;
    llvm::SmallVector<llvm::BasicBlock*> heads, ends;
    for (unsigned axis = 0; axis < array.type->dimensions; ++axis) {
        positions.push_back(e.entry_alloca(e.builder.getInt64Ty(), "ufunc.index"));
        e.builder.CreateStore(e.int64(0), positions[axis]);
        heads.push_back(e.new_block("ufunc.head"));
        ends.push_back(e.new_block("ufunc.end"));
        llvm::BasicBlock* inside = e.new_block("ufunc");
        e.builder.CreateBr(heads[axis]);
        e.builder.SetInsertPoint(heads[axis]);
        llvm::Value* position = e.builder.CreateLoad(e.builder.getInt64Ty(), positions[axis]);
        e.builder.CreateCondBr(e.builder.CreateICmpSLT(position, array.parts[1 + axis]), inside, ends[axis]);
        e.builder.SetInsertPoint(inside);
    }
    body(positions);
    for (std::size_t axis = positions.size(); axis-- > 0;) {
        llvm::Value* position = e.builder.CreateLoad(e.builder.getInt64Ty(), positions[axis]);
        e.builder.CreateStore(e.builder.CreateAdd(position, e.int64(1)), positions[axis]);
        e.builder.CreateBr(heads[axis]);
        e.builder.SetInsertPoint(ends[axis]);
    }
}

}  // namespace

TypeRef type_ufunc_call(const CallTyping& call, TypeRule scalar) {
    const TypeRef out = call.arguments.back();
    const auto operands = std::span(call.arguments).first(call.size() - 1);
    if (!out) {
        if (std::ranges::any_of(operands, is_array))
            call.refuse(
                "of an array gives an array, for which kernels have no memory: pass an output array as the "
                "last argument");
        if (std::ranges::find(operands, call.types().float16) != operands.end())
            throw SourceError(ErrorClass::not_implemented,
                              "unsupported type for input operand: float16: convert it with np.float32()",
                              call.call.location);
        return scalar_result(call, scalar);
    }
    if (!call.call.keywords.empty())
        throw SourceError(
            ErrorClass::not_implemented,
            std::string(call.callable.name) +
                "() has no keyword arguments in kernels: pass the output array as the last argument",
            call.call.location);
    if (!is_array(out)) call.no_match();
    if (out->read_only) call.refuse("the output array is constant");
    const TypeRef result = scalar_result(call, scalar);
    if (!same_kind(result, out->element())) call.no_match();
    return out;
}

Emitted emit_ufunc_call(CallEmission& call, EmitRule scalar) {
    FunctionEmitter& e = call.emitter;
    const Resolution& of_numbers = call.resolution.inner[0];
    Emitted out = call.arguments.back();
    std::vector<Emitted> given(call.arguments.begin(), call.arguments.end() - 1);
    if (!out.type) {
        CallEmission inner{e, call.callable, call.call, of_numbers, std::move(given)};
        return scalar(inner);
    }
    std::vector<Operand> operands;
    for (const Emitted& value : given) operands.push_back(broadcast(e, value, out));
    Instruction one = call.call;
    one.type = of_numbers.result;
    const Operand target = {out, Parts(out.parts.begin() + 1 + out.type->dimensions, out.parts.end())};
    for_each_position(e, out, [&](std::span<llvm::AllocaInst* const> positions) {
        CallEmission inner{e, call.callable, one, of_numbers, {}};
        for (const Operand& operand : operands) {
            const bool array = operand.value.type->is(TypeKind::array);
            inner.arguments.push_back(array
                                          ? e.load_element(address(e, operand, positions),
                                                           operand.value.type->element(), operand.value.type)
                                          : operand.value);
        }
        e.store_element(address(e, target, positions), scalar(inner), out.type->element(), out.type);
    });
    return out;
}

}  // namespace cudasim::pykernel
