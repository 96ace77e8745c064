// Real arithmetic (PTX ISA, "Floating Point Instructions", "Half Precision Floating Point Instructions").
// InstructionContext takes care of .ftz. Where .approx says how a value is made, it is made so; else it is as
// exact as the other forms (docs/gpu_results.md has the distances from a GPU).
#include <llvm/IR/Intrinsics.h>

#include <functional>
#include <string>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

bool is_double(const InstructionContext& at) {
    return at.type().width == 64;
}

/// .relu: negative numbers become 0, NaN stays one.
Value* without_negatives(InstructionContext& at, Value* value) {
    Value* zero = llvm::Constant::getNullValue(value->getType());
    return at.b.CreateSelect(at.b.CreateFCmpOLE(value, zero), zero, value);
}

/// The result between 0 and 1; NaN becomes 0. @param value of f16, bf16 or f32
Value* saturated(InstructionContext& at, Value* value) {
    if (at.has("relu")) value = without_negatives(at, value);
    if (!at.has("sat")) return value;
    if (value->getType()->getScalarType()->isDoubleTy()) at.refuse();
    return for_each_element(at.b, {value}, [&](llvm::ArrayRef<Value*> one) -> Value* {
        llvm::Type* single = at.b.getFloatTy();
        Value* number = at.call("__nv_saturatef", single, {at.b.CreateFPExt(one[0], single)});
        return at.b.CreateFPTrunc(number, one[0]->getType());
    });
}

/// libdevice's function with a rounding of its own: __nv_fadd_rz, __nv_dadd_rz.
Value* rounded_call(InstructionContext& at, const std::string& name, llvm::ArrayRef<Value*> arguments) {
    if (at.type().kind != Type::real || at.type().width == 16) at.refuse();
    const std::string symbol = "__nv_" + name + "_" + std::string(directed_rounding(at));
    return at.call(symbol.c_str(), arguments[0]->getType(), arguments);
}

/// Of f16 and bf16, rounded once.
void translate_narrow_fma(InstructionContext& at, Value* first, Value* second, Value* addend) {
    auto& b = at.b;
    at.write(saturated(
        at, for_each_element(b, {first, second, addend}, [&](llvm::ArrayRef<Value*> each) -> Value* {
            llvm::Type* single = b.getFloatTy();
            Value* sum = fused_to_odd(b, b.CreateFPExt(each[0], single), b.CreateFPExt(each[1], single),
                                      b.CreateFPExt(each[2], single));
            if (each[0]->getType()->isHalfTy()) return b.CreateFPTrunc(sum, each[0]->getType());
            Value* bits = b.CreateShl(b.CreateZExt(brain_of(b, sum), b.getInt32Ty()), 16);
            return b.CreateBitCast(bits, single);
        })));
}

}  // namespace

void translate_fma(InstructionContext& at) {
    Value* a = at.read(1);
    Value* b = at.read(2);
    Value* c = at.read(3);
    if (at.has("oob")) at.refuse();
    if (at.type().width == 16 || a->getType()->isVectorTy()) return translate_narrow_fma(at, a, b, c);
    if (!directed_rounding(at).empty())
        return at.write(saturated(at, rounded_call(at, is_double(at) ? "fma" : "fmaf", {a, b, c})));
    at.write(saturated(at, at.b.CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, b, c})));
}

namespace {

void translate_sqrt(InstructionContext& at) {
    Value* value = at.read(1);
    if (!directed_rounding(at).empty())
        return at.write(rounded_call(at, is_double(at) ? "dsqrt" : "fsqrt", {value}));
    at.write(at.b.CreateUnaryIntrinsic(Intrinsic::sqrt, value));
}

/// {rcp, rsqrt}.approx.ftz.f64 read and give the upper 32 bits: 20 of the 52 of a mantissa.
void write_from_upper_half(InstructionContext& at, const std::function<Value*(Value*)>& function) {
    auto& b = at.b;
    const auto upper_half = [&b](Value* value) {
        Value* bits = b.CreateAnd(b.CreateBitCast(value, b.getInt64Ty()), ~std::uint64_t{0xFFFFFFFF});
        Value* cut = b.CreateBitCast(bits, b.getDoubleTy());
        Value* zero =
            b.CreateBinaryIntrinsic(Intrinsic::copysign, llvm::ConstantFP::getZero(b.getDoubleTy()), cut);
        return b.CreateSelect(b.createIsFPClass(cut, llvm::fcSubnormal), zero, cut);
    };
    at.write(upper_half(function(upper_half(at.read(1)))));
}

bool takes_upper_half(const InstructionContext& at) {
    return is_double(at) && at.has("approx") && at.has("ftz");
}

void translate_rcp(InstructionContext& at) {
    if (takes_upper_half(at))
        return write_from_upper_half(at, [&at](Value* value) {
            return at.b.CreateFDiv(llvm::ConstantFP::get(value->getType(), 1.0), value);
        });
    Value* value = at.read(1);
    if (!directed_rounding(at).empty())
        return at.write(rounded_call(at, is_double(at) ? "drcp" : "frcp", {value}));
    at.write(at.b.CreateFDiv(llvm::ConstantFP::get(value->getType(), 1.0), value));
}

struct MathFunction {
    std::string_view opcode;
    const char* single;
    const char* twice;
};

constexpr MathFunction math_functions[] = {
    {"rsqrt", "__nv_rsqrtf", "__nv_rsqrt"},
    {"lg2", "__nv_log2f", "__nv_log2"},
    {"ex2", "__nv_exp2f", "__nv_exp2"},
    {"tanh", "__nv_tanhf", "__nv_tanh"},
};

/// sin.approx and cos.approx: of the number of turns, a product that is rounded to zero. Far from zero
/// nothing of the real sine is left.
void translate_circular(InstructionContext& at) {
    if (at.type() != Type{Type::real, 32}) at.refuse();
    llvm::Type* type = at.b.getFloatTy();
    constexpr float turns_per_radian = 0x1.45f306p-3F;  // 1 / (2 pi)
    Value* turns = at.call("__nv_fmul_rz", type, {at.read(1), llvm::ConstantFP::get(type, turns_per_radian)});
    const bool is_sine = at.instruction.opcode[0] == "sin";
    at.write(at.call(is_sine ? "__nv_sinpif" : "__nv_cospif", type, {at.b.CreateFAdd(turns, turns)}));
}

void translate_math(InstructionContext& at) {
    Value* value = at.read(1);
    for (const MathFunction& function : math_functions) {
        if (function.opcode != at.instruction.opcode[0]) continue;
        const bool has_narrow_form = function.opcode == "ex2" || function.opcode == "tanh";
        if ((at.type().kind != Type::real || at.type().width < 32) && !has_narrow_form) at.refuse();
        return at.write(for_each_element(at.b, {value}, [&](llvm::ArrayRef<Value*> one) -> Value* {
            llvm::Type* type = one[0]->getType();
            if (type->isDoubleTy()) return at.call(function.twice, type, {one[0]});
            Value* single = at.b.CreateFPExt(one[0], at.b.getFloatTy());
            return at.b.CreateFPTrunc(at.call(function.single, single->getType(), {single}), type);
        }));
    }
}

void translate_rsqrt(InstructionContext& at) {
    if (!takes_upper_half(at)) return translate_math(at);
    write_from_upper_half(at,
                          [&at](Value* value) { return at.call("__nv_rsqrt", value->getType(), {value}); });
}

/// The sign of a on the magnitude of b.
void translate_copysign(InstructionContext& at) {
    at.write(at.b.CreateBinaryIntrinsic(Intrinsic::copysign, at.read(2), at.read(1)));
}

struct NumberClass {
    std::string_view name;
    llvm::FPClassTest test;
};

constexpr NumberClass number_classes[] = {
    {"finite", llvm::fcFinite},
    {"infinite", llvm::fcInf},
    {"number", static_cast<llvm::FPClassTest>(llvm::fcAllFlags & ~llvm::fcNan)},
    {"notanumber", llvm::fcNan},
    {"normal", static_cast<llvm::FPClassTest>(llvm::fcNormal | llvm::fcZero)},
    {"subnormal", llvm::fcSubnormal},
};

void translate_testp(InstructionContext& at) {
    for (const NumberClass& known : number_classes) {
        if (!at.has(known.name)) continue;
        llvm::FPClassTest test = known.test;
        return at.write(at.b.createIsFPClass(at.read(1), test));
    }
    at.refuse();
}

constexpr Row rows[] = {
    {"fma", translate_fma},     {"sqrt", translate_sqrt},         {"rcp", translate_rcp},
    {"rsqrt", translate_rsqrt}, {"sin", translate_circular},      {"cos", translate_circular},
    {"lg2", translate_math},    {"ex2", translate_math},          {"tanh", translate_math},
    {"testp", translate_testp}, {"copysign", translate_copysign},
};

}  // namespace

std::string_view directed_rounding(const InstructionContext& at) {
    return at.has("rz") ? "rz" : at.has("rm") ? "rd" : at.has("rp") ? "ru" : "";
}

void translate_real(InstructionContext& at, llvm::Instruction::BinaryOps operation, const char* name) {
    Value* left = at.read(1);
    Value* right = at.read(2);
    if (!directed_rounding(at).empty()) {
        // simulator/libdevice has no subtraction of doubles.
        if (operation == llvm::Instruction::FSub) right = at.b.CreateFNeg(right);
        const std::string function = operation == llvm::Instruction::FSub ? "add" : name;
        return at.write(
            saturated(at, rounded_call(at, (is_double(at) ? "d" : "f") + function, {left, right})));
    }
    at.write(saturated(at, at.b.CreateBinOp(operation, left, right)));
}

std::span<const Row> real_arithmetic_rows() {
    return rows;
}

}  // namespace cudasim::ptx
