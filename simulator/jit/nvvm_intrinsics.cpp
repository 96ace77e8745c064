// See nvvm_intrinsics.h. What rounds in a direction of its own is a function of libdevice, on the host.
#include "simulator/jit/nvvm_intrinsics.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <string>

#include "simulator/jit/function_context.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// PTX's rounding modifiers as libdevice calls them.
StringRef libdevice_rounding(StringRef modifier) {
    return StringSwitch<StringRef>(modifier)
        .Case("rn", "rn")
        .Case("rm", "rd")
        .Case("rp", "ru")
        .Case("rz", "rz")
        .Default("");
}

/// "ui" of llvm.nvvm.f2ui.rz as libdevice calls it.
StringRef libdevice_type(StringRef abbreviation) {
    return StringSwitch<StringRef>(abbreviation)
        .Case("i", "int")
        .Case("ui", "uint")
        .Case("ll", "ll")
        .Case("ull", "ull")
        .Case("f", "float")
        .Case("d", "double")
        .Default("");
}

class NamedOperation {
  public:
    NamedOperation(CallInst& call, IRBuilder<>& builder, const Compilation& compilation)
        : call_(call), b_(builder), compilation_(compilation), type_(call.getType()) {
        StringRef name = call.getCalledFunction()->getName();
        name.consume_front("llvm.nvvm.");
        name.split(words_, '.');
        ftz_ = is_contained(words_, "ftz");
    }

    std::optional<Value*> lower() {
        const StringRef operation = words_.front();
        if (is_contained({"add", "mul", "div", "fma", "rcp", "sqrt"}, operation)) return arithmetic();
        if (operation == "fmin" || operation == "fmax") return extremum();
        if (words_.size() > 1 && words_[1] == "approx") return approximation();
        if (operation.contains('2') && operation != "mul24") return conversion();
        if (is_contained({"floor", "ceil", "trunc", "round", "fabs"}, operation)) return integral();
        if (operation == "saturate") return clamped(flushed(argument(0)));
        return other();
    }

  private:
    Value* argument(unsigned index) { return call_.getArgOperand(index); }
    [[nodiscard]] bool has(StringRef word) const { return is_contained(words_, word); }

    /// A function of the host, which reads and writes no memory.
    Value* host(const Twine& name, ArrayRef<Value*> arguments) {
        SmallVector<Type*, 3> types;
        for (Value* each : arguments) types.push_back(each->getType());
        auto* function =
            cast<Function>(call_.getModule()
                               ->getOrInsertFunction(name.str(), FunctionType::get(type_, types, false))
                               .getCallee());
        function->setDoesNotThrow();
        function->setWillReturn();
        function->setDoesNotAccessMemory();
        function->setNoSync();
        return b_.CreateCall(function, arguments);
    }

    /// .ftz: what is subnormal counts as zero of the same sign.
    Value* flushed(Value* x) {
        if (!ftz_ || !x->getType()->getScalarType()->isFloatTy()) return x;
        Value* zero = b_.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(x->getType(), 0.0), x);
        return b_.CreateSelect(b_.createIsFPClass(x, fcSubnormal), zero, x);
    }

    Value* clamped(Value* x) {
        Value* zero = ConstantFP::get(x->getType(), 0.0);
        Value* one = ConstantFP::get(x->getType(), 1.0);
        Value* positive = b_.CreateSelect(b_.CreateFCmpOGT(x, zero), x, zero);
        return b_.CreateSelect(b_.CreateFCmpOGT(positive, one), one, positive);
    }

    // 16-bit floats ----------------------------------------------------------------------------------------

    static bool is_bfloat(Type* type) { return type->getScalarType()->isBFloatTy(); }
    static bool is_small(Type* type) { return is_bfloat(type) || type->getScalarType()->isHalfTy(); }
    Type* with_elements(Type* shape, Type* element) {
        auto* vector = dyn_cast<FixedVectorType>(shape);
        return vector ? FixedVectorType::get(element, vector->getNumElements()) : element;
    }

    /// As float. bfloat16 is the upper half of one.
    Value* widened(Value* x) {
        if (!is_bfloat(x->getType())) return b_.CreateFPExt(x, with_elements(x->getType(), b_.getFloatTy()));
        Type* words = with_elements(x->getType(), b_.getInt32Ty());
        Value* bits = b_.CreateBitCast(x, with_elements(x->getType(), b_.getInt16Ty()));
        bits = b_.CreateShl(b_.CreateZExt(bits, words), ConstantInt::get(words, 16));
        return b_.CreateBitCast(bits, with_elements(x->getType(), b_.getFloatTy()));
    }
    /// To the nearest, ties to even, or to zero.
    Value* narrowed(Value* x, Type* type, bool to_zero = false) {
        if (!is_bfloat(type)) return b_.CreateFPTrunc(x, type);
        Type* words = with_elements(type, b_.getInt32Ty());
        const auto constant = [&](std::uint32_t value) { return ConstantInt::get(words, value); };
        Value* bits = b_.CreateBitCast(x, words);
        Value* upper = b_.CreateLShr(bits, constant(16));
        if (!to_zero) {
            Value* odd = b_.CreateAnd(upper, constant(1));
            upper = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(constant(0x7fff), odd)), constant(16));
        }
        upper = b_.CreateSelect(b_.CreateFCmpUNO(x, x), constant(0x7fff), upper);
        return b_.CreateBitCast(b_.CreateTrunc(upper, with_elements(type, b_.getInt16Ty())), type);
    }
    Value* without_negative(Value* x) {
        Value* zero = ConstantFP::get(x->getType(), 0.0);
        return b_.CreateSelect(b_.CreateFCmpOLT(x, zero), zero, x);
    }

    Value* small_multiply_add() {
        // The product is exact in double, and so is the sum, but for the rarest operands.
        Value* operands[3];
        for (unsigned i = 0; i < 3; ++i) {
            Value* wide = widened(argument(i));
            operands[i] = b_.CreateFPExt(wide, with_elements(wide->getType(), b_.getDoubleTy()));
        }
        Value* result = b_.CreateIntrinsic(Intrinsic::fma, {operands[0]->getType()}, operands);
        if (has("sat")) result = clamped(result);
        if (has("relu")) result = without_negative(result);
        if (is_bfloat(type_)) result = b_.CreateFPTrunc(result, with_elements(type_, b_.getFloatTy()));
        return narrowed(result, type_);
    }

    // Families ---------------------------------------------------------------------------------------------

    std::optional<Value*> arithmetic() {
        const StringRef operation = words_[0];
        if (words_.size() < 3) return std::nullopt;
        if (operation == "fma" && is_small(type_)) return small_multiply_add();
        const bool approximate = words_[1] == "approx";
        const StringRef rounding = approximate ? "rn" : libdevice_rounding(words_[1]);
        if (rounding.empty() || (!type_->isFloatTy() && !type_->isDoubleTy())) return std::nullopt;
        SmallVector<Value*, 3> operands;
        for (Value* each : call_.args()) operands.push_back(flushed(each));
        if (rounding != "rn") {
            const std::string name = operation == "fma" ? (type_->isFloatTy() ? "fmaf" : "fma")
                                                        : (type_->isFloatTy() ? "f" : "d") + operation.str();
            return flushed(host("__nv_" + name + "_" + rounding, operands));
        }
        Value* result = nullptr;
        if (operation == "add") result = b_.CreateFAdd(operands[0], operands[1]);
        if (operation == "mul") result = b_.CreateFMul(operands[0], operands[1]);
        if (operation == "div") result = b_.CreateFDiv(operands[0], operands[1]);
        if (operation == "rcp") result = b_.CreateFDiv(ConstantFP::get(type_, 1.0), operands[0]);
        if (operation == "sqrt") result = b_.CreateUnaryIntrinsic(Intrinsic::sqrt, operands[0]);
        if (operation == "fma") result = b_.CreateIntrinsic(Intrinsic::fma, {type_}, operands);
        return flushed(result);
    }

    std::optional<Value*> approximation() {
        const StringRef operation = words_[0];
        Value* x = flushed(argument(0));
        if (operation == "rsqrt") {
            Value* root = b_.CreateUnaryIntrinsic(Intrinsic::sqrt, x);
            return flushed(b_.CreateFDiv(ConstantFP::get(type_, 1.0), root));
        }
        const auto intrinsic = StringSwitch<Intrinsic::ID>(operation)
                                   .Case("ex2", Intrinsic::exp2)
                                   .Case("lg2", Intrinsic::log2)
                                   .Case("sin", Intrinsic::sin)
                                   .Case("cos", Intrinsic::cos)
                                   .Default(Intrinsic::not_intrinsic);
        if (intrinsic == Intrinsic::not_intrinsic) return std::nullopt;
        if (!is_small(type_)) return flushed(b_.CreateUnaryIntrinsic(intrinsic, x));
        return narrowed(b_.CreateUnaryIntrinsic(intrinsic, widened(x)), type_);
    }

    std::optional<Value*> integral() {
        const auto intrinsic = StringSwitch<Intrinsic::ID>(words_[0])
                                   .Case("floor", Intrinsic::floor)
                                   .Case("ceil", Intrinsic::ceil)
                                   .Case("trunc", Intrinsic::trunc)
                                   .Case("round", Intrinsic::rint)
                                   .Default(Intrinsic::fabs);
        return b_.CreateUnaryIntrinsic(intrinsic, flushed(argument(0)));
    }

    /// min and max: a NaN loses against a number, unless .nan says that it wins; -0 is less than +0.
    Value* extremum() {
        const bool small = is_small(type_);
        Value* x = flushed(small ? widened(argument(0)) : argument(0));
        Value* y = flushed(small ? widened(argument(1)) : argument(1));
        Value* sign_of_x = x;
        Value* sign_of_y = y;
        if (has("abs")) {
            x = b_.CreateUnaryIntrinsic(Intrinsic::fabs, x);
            y = b_.CreateUnaryIntrinsic(Intrinsic::fabs, y);
        }
        Value* result =
            b_.CreateBinaryIntrinsic(words_[0] == "fmin" ? Intrinsic::minimum : Intrinsic::maximum, x, y);
        if (!has("nan")) {
            result = b_.CreateSelect(b_.CreateFCmpUNO(y, y), x, result);
            result = b_.CreateSelect(b_.CreateFCmpUNO(x, x), y, result);
        }
        if (has("xorsign")) {
            Value* sign = b_.CreateFMul(b_.CreateBinaryIntrinsic(Intrinsic::copysign, one(x), sign_of_x),
                                        b_.CreateBinaryIntrinsic(Intrinsic::copysign, one(x), sign_of_y));
            result = b_.CreateBinaryIntrinsic(Intrinsic::copysign, result, sign);
        }
        return small ? narrowed(result, type_) : result;
    }
    static Constant* one(Value* like) { return ConstantFP::get(like->getType(), 1.0); }

    std::optional<Value*> conversion() {
        const auto [from, to] = words_[0].split('2');
        const StringRef modifier = words_.size() > 1 ? words_[1] : "";
        if (from == "ff") return two_floats(modifier == "rz");
        if (to == "bf16") {
            Value* x = has("relu") ? without_negative(argument(0)) : argument(0);
            return narrowed(x, type_, modifier == "rz");
        }
        if (from == "f" && to == "h") {
            Value* half = b_.CreateFPTrunc(flushed(argument(0)), b_.getHalfTy());
            return b_.CreateBitCast(half, type_);
        }
        if (words_[0] == "d2i" && (modifier == "hi" || modifier == "lo"))
            return host("__nv_double2" + modifier + "int", {argument(0)});
        const StringRef rounding = libdevice_rounding(modifier);
        const StringRef source = libdevice_type(from), target = libdevice_type(to);
        if (rounding.empty() || source.empty() || target.empty()) return std::nullopt;
        // int fits double whatever the rounding.
        const bool exact = target == "double" && source.ends_with("int");
        return flushed(
            host("__nv_" + source + "2" + target + "_" + (exact ? "rn" : rounding), {flushed(argument(0))}));
    }

    /// The first goes to the upper half.
    Value* two_floats(bool to_zero) {
        Value* result = PoisonValue::get(type_);
        for (unsigned i = 0; i < 2; ++i) {
            Value* x = has("relu") ? without_negative(argument(i)) : argument(i);
            Type* element = type_->getScalarType();
            Value* small = to_zero && !is_bfloat(type_) ? half_toward_zero(x) : narrowed(x, element, to_zero);
            result = b_.CreateInsertElement(result, small, std::uint64_t{1} - i);
        }
        return result;
    }
    /// The nearest half, or where it is larger than x the one before it.
    Value* half_toward_zero(Value* x) {
        Value* half = b_.CreateFPTrunc(x, b_.getHalfTy());
        Value* size = b_.CreateUnaryIntrinsic(Intrinsic::fabs, b_.CreateFPExt(half, b_.getFloatTy()));
        Value* larger = b_.CreateFCmpOGT(size, b_.CreateUnaryIntrinsic(Intrinsic::fabs, x));
        larger = b_.CreateAnd(larger, b_.createIsFPClass(x, fcFinite));
        Value* bits = b_.CreateBitCast(half, b_.getInt16Ty());
        bits = b_.CreateSelect(larger, b_.CreateSub(bits, b_.getInt16(1)), bits);
        return b_.CreateBitCast(bits, b_.getHalfTy());
    }

    std::optional<Value*> other() {
        const StringRef operation = words_[0];
        if (operation == "bitcast" || operation == "move")
            return b_.CreateBitOrPointerCast(argument(0), type_);
        if (operation == "ldg" || operation == "ldu") return read_only_load();
        if (operation == "lohi") return host("__nv_hiloint2double", {argument(1), argument(0)});
        if (operation == "mul24") {
            const StringRef name = words_[1] == "ui" ? "__nv_umul24" : "__nv_mul24";
            return host(name, {argument(0), argument(1)});
        }
        if (operation == "isspacep" && words_[1] == "const") return is_constant();
        if (operation == "prmt")
            return host("cudasim.permuted_bytes", {argument(0), argument(1), argument(2)});
        if (operation == "fns") return host("cudasim.nth_set_bit", {argument(0), argument(1), argument(2)});
        if (operation == "mulhi") return small_high_product(words_[1] == "s");
        if (operation == "sad") return sum_of_difference(!words_[1].starts_with("u"));
        if (operation == "neg" || operation == "abs") return sign_of_bfloat(operation == "neg");
        if (operation == "swap") return rotated(b_.getInt64(32), Intrinsic::fshl);
        if (operation == "rotate") {
            const auto shift = has("right") ? Intrinsic::fshr : Intrinsic::fshl;
            return rotated(b_.CreateZExtOrTrunc(argument(1), type_), shift);
        }
        return std::nullopt;
    }

    Value* read_only_load() {
        const auto* alignment = dyn_cast<ConstantInt>(argument(1));
        if (!alignment) refuse(call_, "the alignment of a read-only load has to be a constant");
        return b_.CreateAlignedLoad(type_, argument(0), MaybeAlign(alignment->getZExtValue()));
    }

    /// Whether the address lies in one of the image's __constant__ variables.
    Value* is_constant() {
        FunctionContext head(*call_.getFunction());
        Value* base = b_.CreatePtrToInt(head.block_field(offsetof(BlockContext, globals_base), b_.getPtrTy()),
                                        b_.getInt64Ty());
        Value* distance = b_.CreateSub(b_.CreatePtrToInt(argument(0), b_.getInt64Ty()), base);
        Value* inside = b_.getFalse();
        for (const jit::GlobalVariable& variable : compilation_.layout.globals->variables) {
            if (!variable.constant || variable.symbol.starts_with(".")) continue;  // texts are global
            Value* from_start = b_.CreateSub(distance, b_.getInt64(variable.offset));
            inside = b_.CreateOr(inside, b_.CreateICmpULT(from_start, b_.getInt64(variable.bytes)));
        }
        return inside;
    }

    Value* small_high_product(bool is_signed) {
        Value* x = b_.CreateIntCast(argument(0), b_.getInt32Ty(), is_signed);
        Value* y = b_.CreateIntCast(argument(1), b_.getInt32Ty(), is_signed);
        return b_.CreateTrunc(b_.CreateLShr(b_.CreateMul(x, y), 16), type_);
    }

    /// |x - y| + z
    Value* sum_of_difference(bool is_signed) {
        Value* x = argument(0);
        Value* y = argument(1);
        Value* less = is_signed ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y);
        Value* difference = b_.CreateSelect(less, b_.CreateSub(y, x), b_.CreateSub(x, y));
        return b_.CreateAdd(difference, argument(2));
    }

    Value* sign_of_bfloat(bool negated) {
        Type* bits_type = with_elements(type_, b_.getInt16Ty());
        Value* bits = b_.CreateBitCast(argument(0), bits_type);
        bits = negated ? b_.CreateXor(bits, ConstantInt::get(bits_type, 0x8000))
                       : b_.CreateAnd(bits, ConstantInt::get(bits_type, 0x7fff));
        return b_.CreateBitCast(bits, type_);
    }

    Value* rotated(Value* amount, Intrinsic::ID shift) {
        return b_.CreateIntrinsic(shift, {type_}, {argument(0), argument(0), amount});
    }

    CallInst& call_;
    IRBuilder<>& b_;
    const Compilation& compilation_;
    Type* type_;
    SmallVector<StringRef, 6> words_;
    bool ftz_ = false;
};

}  // namespace

std::optional<Value*> lowered_by_name(CallInst& call, IRBuilder<>& builder, const Compilation& compilation) {
    if (!call.getCalledFunction()->getName().starts_with("llvm.nvvm.")) return std::nullopt;
    return NamedOperation(call, builder, compilation).lower();
}

void lower_multiply_add(IntrinsicInst& call, bool contract) {
    IRBuilder<> builder(&call);
    builder.setFastMathFlags(call.getFastMathFlags());
    Value* result =
        contract
            ? builder.CreateIntrinsic(Intrinsic::fma, {call.getType()},
                                      {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2)})
            : builder.CreateFAdd(builder.CreateFMul(call.getArgOperand(0), call.getArgOperand(1)),
                                 call.getArgOperand(2));
    call.replaceAllUsesWith(result);
    call.eraseFromParent();
}

}  // namespace cudasim::jit
