// Constants and conversions between types.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>

#include "frontend/pykernel/emit/characters.h"
#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {
namespace {

const llvm::fltSemantics& semantics(TypeRef type) {
    if (type->bits == 16) return llvm::APFloat::IEEEhalf();
    return type->bits == 32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble();
}

}  // namespace

Emitted FunctionEmitter::constant(const GlobalValue& value, TypeRef type) {
    Emitted result{type, {}};
    switch (value.kind) {
        case GlobalKind::integer:
        case GlobalKind::date:
        case GlobalKind::boolean:
            result.parts.push_back(
                llvm::ConstantInt::get(module.value_type(type), static_cast<std::uint64_t>(value.integer)));
            break;
        case GlobalKind::real:
            result.parts.push_back(llvm::ConstantFP::get(module.value_type(type), value.real));
            break;
        case GlobalKind::complex:
            for (double part : {value.real, value.imaginary})
                result.parts.push_back(
                    llvm::ConstantFP::get(module.value_type(types().component(type)), part));
            break;
        case GlobalKind::member:
            return {type, constant(value.elements[0], type->element()).parts};
        case GlobalKind::tuple:
            for (std::size_t i = 0; i < value.elements.size(); ++i) {
                result.parts.append(constant(value.elements[i], type->elements[i]).parts);
            }
            break;
        case GlobalKind::record:
            if (type->is(TypeKind::added)) return emit_added(module.program.added_constant(value), {});
            result.parts.push_back(module.constant_array(value, type));
            break;
        case GlobalKind::device_array: {
            result.parts.push_back(llvm::ConstantExpr::getIntToPtr(
                int64(value.integer), llvm::PointerType::get(module.context, type->pointer_space())));
            for (std::int64_t extent : value.shape) result.parts.push_back(int64(extent));
            for (std::int64_t stride : value.strides) result.parts.push_back(int64(stride));
            break;
        }
        case GlobalKind::bytes:
            return make_array(
                type, module.constant_array(value, types().uint8),
                std::array<llvm::Value*, 1>{int64(static_cast<std::int64_t>(value.bytes.size()))});
        case GlobalKind::array: {
            std::vector<llvm::Value*> shape;
            for (std::int64_t extent : value.shape) shape.push_back(int64(extent));
            return make_array(type, module.constant_array(value, type->element()), shape);
        }
        case GlobalKind::intrinsic:
            if (value.text == "cuda.laneid" || value.text == "cuda.warpsize") {
                const auto id = value.text == "cuda.laneid" ? llvm::Intrinsic::nvvm_read_ptx_sreg_laneid
                                                            : llvm::Intrinsic::nvvm_read_ptx_sreg_warpsize;
                result.parts.push_back(builder.CreateIntrinsic(id, {}, {}));
            }
            // The pointer to the global says which of threadIdx, blockIdx, blockDim
            // and gridDim it is: no parts.
            break;
        default:
            break;
    }
    return result;
}

llvm::Value* FunctionEmitter::to_memory(llvm::Value* value, TypeRef type) {
    if (!type->is(TypeKind::boolean)) return value;
    return each_way(value, [&](llvm::Value* truth) -> llvm::Value* {
        if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(truth))
            return builder.getInt8(static_cast<std::uint8_t>(known->getZExtValue()));
        return builder.CreateZExt(truth, builder.getInt8Ty());
    });
}

llvm::Value* FunctionEmitter::from_memory(llvm::Value* value, TypeRef type) {
    return type->is(TypeKind::boolean) ? builder.CreateICmpNE(value, builder.getInt8(0)) : value;
}

llvm::Value* FunctionEmitter::truth(const Emitted& value) {
    const TypeRef type = value.type;
    if (type->literal) {
        llvm::Value* known = builder.getInt1(*type->literal != 0);
        const auto* variable = value.parts.empty() ? nullptr : image::as_variable_read(value.value());
        if (!variable) return known;
        return read(known, truth(number(variable->getArgOperand(1), types().without_literal(type))));
    }
    if (type->is(TypeKind::boolean)) return value.value();
    if (type->is(TypeKind::integer))
        return builder.CreateICmpNE(value.value(), llvm::ConstantInt::get(value.value()->getType(), 0));
    if (type->is(TypeKind::floating))
        return builder.CreateFCmpUNE(value.value(), llvm::ConstantFP::get(value.value()->getType(), 0.0));
    if (type->is(TypeKind::bfloat)) return truth(convert(value, types().float32));
    if (type->is(TypeKind::complex)) {
        llvm::Value* zero = llvm::ConstantFP::get(value.value()->getType(), 0.0);
        return builder.CreateOr(builder.CreateFCmpUNE(value.parts[0], zero),
                                builder.CreateFCmpUNE(value.parts[1], zero));
    }
    if (type->is(TypeKind::characters))
        return builder.CreateICmpNE(characters_length(*this, value), int64(0));
    if (type->is(TypeKind::text)) return builder.getInt1(!type->text.empty());
    if (type->is(TypeKind::member)) return truth({type->element(), value.parts});
    if (type->is(TypeKind::optional)) {
        const Emitted inside{type->element(), Parts(value.parts.begin() + 1, value.parts.end())};
        return builder.CreateAnd(value.value(), truth(inside));
    }
    return builder.getInt1(type->is(TypeKind::tuple) && !type->elements.empty());
}

Emitted FunctionEmitter::convert(const Emitted& value, TypeRef type) {
    type = types().without_literal(type);
    const TypeRef from = types().without_literal(value.type);
    if (from == type) return {type, value.parts};
    if (type->is(TypeKind::none)) return {type, {}};
    if (const Resolution* cast = module.program.cast(from, type)) return emit_added(*cast, std::array{value});
    if (type->is(TypeKind::characters)) return to_characters(*this, value, type);
    if (type->is(TypeKind::optional)) return make_optional(value, type);
    if (from->is(TypeKind::optional)) return convert(present(value), type);
    if (from->is(TypeKind::member)) return convert({from->element(), value.parts}, type);
    if (type->is(TypeKind::member)) return {type, convert(value, type->element()).parts};
    if (type->is(TypeKind::complex)) return convert_to_complex(value, from, type);
    // The count of units: for the compiler itself, and for int(duration).
    if (type->is_date()) return {type, {convert(value, types().int64).value()}};
    if (from->is_date()) return convert(number(value.value(), types().int64), type);
    if (from->is_numeric()) {
        if (type->is(TypeKind::boolean)) return number(truth(value), type);
        return number(convert_number(value.value(), from, type), type);
    }
    if (from->is(TypeKind::record) && from->pointer_space() == type->pointer_space())
        return {type, value.parts};
    Emitted result{type, {}};
    if (from->is(TypeKind::tuple)) {
        for (std::size_t i = 0; i < type->elements.size(); ++i) {
            result.parts.append(convert(element_of(value, i), type->elements[i]).parts);
        }
        return result;
    }
    result.parts = value.parts;
    if (from->pointer_space() != type->pointer_space()) {
        result.parts[0] = builder.CreateAddrSpaceCast(
            value.parts[0], llvm::PointerType::get(module.context, type->pointer_space()));
    }
    return result;
}

Emitted FunctionEmitter::convert_to_complex(const Emitted& value, TypeRef from, TypeRef type) {
    const TypeRef component = types().component(type);
    if (from->is(TypeKind::complex)) {
        const TypeRef narrow = types().component(from);
        return {type,
                {convert_number(value.parts[0], narrow, component),
                 convert_number(value.parts[1], narrow, component)}};
    }
    llvm::Value* zero = llvm::ConstantFP::get(module.value_type(component), 0.0);
    return {type, {convert(value, component).value(), zero}};
}

/// Makes an optional of None, of another optional or of a value. Its parts are a flag, whether there is a
/// value, and the value's parts.
Emitted FunctionEmitter::make_optional(const Emitted& value, TypeRef type) {
    Emitted result{type, {}};
    if (value.type->is(TypeKind::none)) {
        llvm::SmallVector<llvm::Type*> parts;
        module.part_types(type, false, parts);
        for (llvm::Type* part : parts) result.parts.push_back(llvm::Constant::getNullValue(part));
        return result;
    }
    const bool optional = value.type->is(TypeKind::optional);
    const Emitted inside =
        optional ? Emitted{value.type->element(), Parts(value.parts.begin() + 1, value.parts.end())} : value;
    result.parts.push_back(optional ? value.value() : builder.getTrue());
    result.parts.append(convert(inside, type->element()).parts);
    return result;
}

Emitted FunctionEmitter::present(const Emitted& value) {
    if (value.type->is_integer_member()) return {value.type->element(), value.parts};
    if (!value.type->is(TypeKind::optional)) return value;
    llvm::BasicBlock* absent = new_block("optional.absent");
    llvm::BasicBlock* there = new_block("optional.present");
    builder.CreateCondBr(value.value(), there, absent);
    builder.SetInsertPoint(absent);
    raise("TypeError", "expected " + value.type->element()->name + ", got None");
    builder.SetInsertPoint(there);
    return {value.type->element(), Parts(value.parts.begin() + 1, value.parts.end())};
}

llvm::Value* FunctionEmitter::convert_number(llvm::Value* value, TypeRef from, TypeRef to) {
    return each_way(value, [&](llvm::Value* one) { return convert_one_number(one, from, to); });
}

llvm::Value* FunctionEmitter::convert_one_number(llvm::Value* value, TypeRef from, TypeRef to) {
    if (from->is(TypeKind::bfloat)) return convert_number(widen_bfloat(value), types().float32, to);
    if (to->is(TypeKind::bfloat)) return narrow_to_bfloat(value, from);
    if (llvm::Value* folded = convert_constant(value, from, to)) return folded;
    llvm::Type* type = module.value_type(to);
    if (from == types().float16 && to->is(TypeKind::integer))
        return convert_number(builder.CreateFPExt(value, builder.getFloatTy()), types().float32, to);
    if (to == types().float16 && type != value->getType()) return narrow_to_half(value, from);
    if (from->is(TypeKind::floating)) {
        if (to->is(TypeKind::floating)) return builder.CreateFPCast(value, type);
        return to->is_signed ? builder.CreateFPToSI(value, type) : builder.CreateFPToUI(value, type);
    }
    const bool is_signed = from->is(TypeKind::integer) && from->is_signed;
    if (to->is(TypeKind::floating))
        return is_signed ? builder.CreateSIToFP(value, type) : builder.CreateUIToFP(value, type);
    return builder.CreateIntCast(value, type, is_signed);
}

/// Constants convert here, because the builder folds nothing; null for what is not one (or has no exact
/// rule).
llvm::Value* FunctionEmitter::convert_constant(llvm::Value* value, TypeRef from, TypeRef to) {
    const bool is_signed = from->is(TypeKind::integer) && from->is_signed;
    if (auto* integer = llvm::dyn_cast<llvm::ConstantInt>(value)) {
        if (to->is(TypeKind::integer)) {
            const llvm::APInt& bits = integer->getValue();
            return llvm::ConstantInt::get(
                module.context, is_signed ? bits.sextOrTrunc(to->bits) : bits.zextOrTrunc(to->bits));
        }
        llvm::APFloat real(semantics(to));
        real.convertFromAPInt(integer->getValue(), is_signed, llvm::APFloat::rmNearestTiesToEven);
        return llvm::ConstantFP::get(module.context, real);
    }
    auto* real = llvm::dyn_cast<llvm::ConstantFP>(value);
    if (!real || !to->is(TypeKind::floating)) return nullptr;
    llvm::APFloat converted = real->getValueAPF();
    bool loses = false;
    converted.convert(semantics(to), llvm::APFloat::rmNearestTiesToEven, &loses);
    return llvm::ConstantFP::get(module.context, converted);
}

}  // namespace cudasim::pykernel
