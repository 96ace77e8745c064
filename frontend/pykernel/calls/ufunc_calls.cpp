// NumPy's ufuncs on numbers (on arrays: ufunc_arrays.h), those that Numba's CUDA target has: it knows
// trigonometry, logarithms, comparisons, bits, minimum and maximum, and fails with a KeyError on the rest
// (np.sqrt, np.exp, np.abs, np.floor ...).
//
// A ufunc computes in the first of its loops, NumPy's, to which all operands convert safely. Where one
// operand is a float, integers convert to any float (a fact about Numba: int64 with float32 gives float32).
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/calls/ufunc_arrays.h"

namespace cudasim::pykernel {
namespace {

std::string_view own_name(const Callable& callable) {
    return callable.name.substr(std::string_view("numpy.").size());
}

bool converts_safely(TypeRef from, TypeRef to, bool any_float) {
    if (to->is(TypeKind::complex)) {
        if (from->is(TypeKind::complex)) return from->bits <= to->bits;
        return from->is(TypeKind::floating) ? 2 * from->bits <= to->bits
                                            : any_float || from->bits <= 16 || to->bits == 128;
    }
    if (from->is(TypeKind::complex)) return false;
    if (from->kind == to->kind && from->bits == to->bits && from->is_signed == to->is_signed) return true;
    if (from->is(TypeKind::boolean)) return true;
    if (to->is(TypeKind::boolean)) return false;
    if (from->is(TypeKind::floating)) return to->is(TypeKind::floating) && from->bits <= to->bits;
    if (to->is(TypeKind::floating)) return any_float || from->bits <= 16 || to->bits == 64;
    if (from->is_signed == to->is_signed) return from->bits <= to->bits;
    return !from->is_signed && from->bits < to->bits;
}

enum Loops : unsigned { booleans = 1, integers = 2, floats = 4, complexes = 8, any = 15 };

/// The type that the operands convert to. @throws SourceError when no loop takes them
TypeRef loop_of(TypeTable& t, std::span<const TypeRef> operands, unsigned loops) {
    const bool any_float = std::ranges::any_of(operands, [](TypeRef type) { return !type->is_integral(); });
    for (TypeRef candidate : {t.boolean, t.int8, t.uint8, t.int16, t.uint16, t.int32, t.uint32, t.int64,
                              t.uint64, t.float32, t.float64, t.complex64, t.complex128}) {
        const unsigned kind = candidate->is(TypeKind::boolean)    ? booleans
                              : candidate->is(TypeKind::integer)  ? integers
                              : candidate->is(TypeKind::floating) ? floats
                                                                  : complexes;
        const bool takes_all = std::ranges::all_of(
            operands, [&](TypeRef type) { return converts_safely(type, candidate, any_float); });
        if ((loops & kind) && takes_all) return candidate;
    }
    return nullptr;
}

template <unsigned loops>
TypeRef type_in_loop(const CallTyping& call) {
    for (TypeRef type : call.arguments) {
        if (!type->is_numeric() || type->is(TypeKind::bfloat)) call.no_match();
    }
    const TypeRef loop = loop_of(call.types(), call.arguments, loops);
    if (!loop) call.no_match();
    return loop;
}

template <unsigned loops>
TypeRef type_boolean(const CallTyping& call) {
    static_cast<void>(type_in_loop<loops>(call));
    return call.types().boolean;
}

/// The function of the library that computes it for complex numbers: "cmath.asin" for np.arcsin.
std::string library_name(std::string_view name) {
    return name == "log" ? "cmath.natural_log" : "cmath." + std::string(name);
}

/// The math module's name for a ufunc of NumPy.
std::string_view math_name(std::string_view name) {
    static constexpr std::pair<std::string_view, std::string_view> other_names[] = {
        {"arccos", "acos"},   {"arccosh", "acosh"},   {"arcsin", "asin"},
        {"arcsinh", "asinh"}, {"arctan", "atan"},     {"arctan2", "atan2"},
        {"arctanh", "atanh"}, {"deg2rad", "radians"}, {"rad2deg", "degrees"}};
    for (const auto& [numpy, math] : other_names) {
        if (name == numpy) return math;
    }
    return name;
}

/// The function of the math module that computes the same; of the library for trigonometry and logarithms of
/// complex numbers.
template <unsigned loops>
TypeRef type_as_math(const CallTyping& call) {
    const TypeRef loop = type_in_loop<loops>(call);
    const std::string_view name = math_name(own_name(call.callable));
    if (loop->is(TypeKind::complex))
        call.resolution.function = &call.program.library(library_name(name), {loop}, call.call.location);
    else
        call.resolution.inner.push_back({.rule = find_callable("math." + std::string(name))});
    return loop;
}

Emitted emit_as_math(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef loop = call.call.type;
    if (call.resolution.function) {
        const Emitted argument = e.convert(call[0], loop);
        return e.convert(e.call_function(*call.resolution.function, {&argument, 1}), loop);
    }
    const Resolution& of_reals = call.resolution.inner[0];
    CallEmission inner{e, *of_reals.rule, call.call, of_reals, {}};
    for (const Emitted& argument : call.arguments) {
        if (argument.type) inner.arguments.push_back(e.convert(argument, loop));
    }
    return of_reals.rule->emit(inner);
}

Emitted emit_conjugate(CallEmission& call) {
    Emitted result = call.emitter.convert(call[0], call.call.type);
    if (result.type->is(TypeKind::complex))
        result.parts[1] = call.emitter.builder.CreateFNeg(result.parts[1]);
    return result;
}

Emitted emit_invert(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    return e.number(e.builder.CreateNot(e.convert(call[0], call.call.type).value()), call.call.type);
}

Emitted emit_is_nan(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    if (call[0].type->is_integral()) return e.number(e.builder.getFalse(), call.call.type);
    return e.number(e.builder.CreateFCmpUNO(call[0].parts.front(), call[0].parts.back()), call.call.type);
}

/// NumPy's rule for a zero divisor: each component is divided by the zero.
Emitted complex_quotient(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const Emitted left = e.convert(call[0], type), right = e.convert(call[1], type);
    llvm::Value* no_divisor = e.builder.CreateNot(e.truth(right));
    Emitted divisor = right, result{type, {}};
    llvm::Value* one = llvm::ConstantFP::get(right.value()->getType(), 1.0);
    divisor.parts[0] = e.builder.CreateSelect(no_divisor, one, right.parts[0]);
    const Emitted quotient = e.complex_binary(Operator::true_divide, left, divisor);
    llvm::Value* zero = e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, right.parts[0]);
    for (std::size_t i = 0; i < 2; ++i) {
        llvm::Value* by_zero = e.builder.CreateFDiv(left.parts[i], zero);
        result.parts.push_back(e.builder.CreateSelect(no_divisor, by_zero, quotient.parts[i]));
    }
    return result;
}

/// IEEE division; unlike the operator it does not ask for a zero divisor.
Emitted emit_divide(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    if (type->is(TypeKind::complex)) return complex_quotient(call);
    return e.number(e.builder.CreateFDiv(e.convert(call[0], type).value(), e.convert(call[1], type).value()),
                    type);
}

Operator operator_of(std::string_view name) {
    static constexpr std::pair<std::string_view, Operator> names[] = {
        {"equal", Operator::equal},
        {"not_equal", Operator::not_equal},
        {"less", Operator::less},
        {"less_equal", Operator::less_equal},
        {"greater", Operator::greater},
        {"greater_equal", Operator::greater_equal},
        {"bitwise_and", Operator::bit_and},
        {"bitwise_or", Operator::bit_or},
        {"bitwise_xor", Operator::bit_xor},
        {"left_shift", Operator::left_shift},
        {"right_shift", Operator::right_shift}};
    return std::ranges::find(names, name, [](const auto& row) { return row.first; })->second;
}

/// NumPy's order of complex numbers: by the real part, then by the imaginary one; false where there is a NaN.
llvm::Value* complex_order(FunctionEmitter& e, Operator op, const Emitted& a, const Emitted& b) {
    const TypeRef part = e.types().component(a.type);
    auto compare = [&](Operator with, std::size_t i) {
        return e.compare(with, a.parts[i], b.parts[i], part);
    };
    const bool less = op == Operator::less || op == Operator::less_equal;
    llvm::Value* numbers = e.builder.CreateFCmpORD(a.parts[1], b.parts[1]);
    llvm::Value* first = e.builder.CreateAnd(compare(less ? Operator::less : Operator::greater, 0), numbers);
    llvm::Value* second = e.builder.CreateAnd(compare(Operator::equal, 0), compare(op, 1));
    return e.builder.CreateOr(first, second);
}

/// Complex numbers in their loop, others as the operator does.
TypeRef type_comparison(const CallTyping& call) {
    static_cast<void>(type_in_loop<any>(call));
    const Operator op = operator_of(own_name(call.callable));
    const bool is_complex = call[0]->is(TypeKind::complex) || call[1]->is(TypeKind::complex);
    const TypeRef loop = is_complex ? loop_of(call.types(), call.arguments, complexes) : nullptr;
    call.resolution.op = op;
    if (loop) call.resolution.parameters = {loop};
    const bool in_order = loop && op != Operator::equal && op != Operator::not_equal;
    if (!in_order && !call.apply(op, loop ? loop : call[0], loop ? loop : call[1])) call.no_match();
    return call.types().boolean;
}

Emitted emit_comparison(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    if (call.resolution.parameters.empty()) return call.apply(0, {call[0], call[1]});
    const TypeRef loop = call.resolution.parameters[0];
    const Emitted a = e.convert(call[0], loop), b = e.convert(call[1], loop);
    if (!call.resolution.inner.empty()) return call.apply(0, {a, b});
    return e.number(complex_order(e, call.resolution.op, a, b), call.call.type);
}

/// An operator on operands of the loop's type.
template <unsigned loops>
TypeRef type_operator(const CallTyping& call) {
    const TypeRef loop = type_in_loop<loops>(call);
    if (!call.apply(operator_of(own_name(call.callable)), loop, loop)) call.no_match();
    return loop;
}

Emitted emit_operator(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const Emitted b = e.convert(call[1], type), a = e.convert(call[0], type);
    return e.convert(call.apply(0, {a, b}), type);
}

Emitted emit_logic(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const std::string_view name = own_name(call.callable);
    llvm::Value* a = e.truth(call[0]);
    if (name == "logical_not") return e.number(e.builder.CreateNot(a), call.call.type);
    llvm::Value* b = e.truth(call[1]);
    return e.number(name == "logical_and"  ? e.builder.CreateAnd(a, b)
                    : name == "logical_or" ? e.builder.CreateOr(a, b)
                                           : e.builder.CreateXor(a, b),
                    call.call.type);
}

Emitted complex_extremum(FunctionEmitter& e, bool smaller, bool prefers_nan, const Emitted& a,
                         const Emitted& b) {
    auto is_nan = [&](const Emitted& x) { return e.builder.CreateFCmpUNO(x.parts[0], x.parts[1]); };
    llvm::Value* first = complex_order(e, smaller ? Operator::less_equal : Operator::greater_equal, a, b);
    llvm::Value* decides = is_nan(prefers_nan ? a : b);
    llvm::Value* loses = is_nan(prefers_nan ? b : a);
    first = e.builder.CreateOr(decides, e.builder.CreateAnd(first, e.builder.CreateNot(loses)));
    Emitted result{a.type, {}};
    for (std::size_t i = 0; i < 2; ++i)
        result.parts.push_back(e.builder.CreateSelect(first, a.parts[i], b.parts[i]));
    return result;
}

bool takes_smaller(const Callable& callable) {
    return own_name(callable) == "minimum" || own_name(callable) == "fmin";
}

TypeRef type_extremum(const CallTyping& call) {
    const TypeRef type = type_in_loop<any>(call);
    if (!type->is(TypeKind::complex))
        call.apply(takes_smaller(call.callable) ? Operator::less_equal : Operator::greater_equal, type, type);
    return type;
}

/// minimum and maximum give the NaN, fmin and fmax the number; of equals the first.
Emitted emit_extremum(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const std::string_view name = own_name(call.callable);
    const bool prefers_nan = name == "minimum" || name == "maximum";
    const Emitted a = e.convert(call[0], type), b = e.convert(call[1], type);
    if (type->is(TypeKind::complex))
        return complex_extremum(e, takes_smaller(call.callable), prefers_nan, a, b);
    llvm::Value* first = call.apply(0, {a, b}).value();
    if (type->is(TypeKind::floating)) {
        llvm::Value* a_is_nan = e.builder.CreateFCmpUNO(a.value(), a.value());
        llvm::Value* b_is_nan = e.builder.CreateFCmpUNO(b.value(), b.value());
        llvm::Value* decides = prefers_nan ? a_is_nan : b_is_nan;
        llvm::Value* loses = prefers_nan ? b_is_nan : a_is_nan;
        first = e.builder.CreateOr(decides, e.builder.CreateAnd(first, e.builder.CreateNot(loses)));
    }
    return e.number(e.builder.CreateSelect(first, a.value(), b.value()), type);
}

// What Numba's CUDA target does not have, and what kernels write instead.
struct Missing {
    std::string_view name, instead;
};
constexpr Missing missing[] = {
    {"absolute", "abs(x)"},
    {"add", "x + y"},
    {"cbrt", "x ** (1 / 3)"},
    {"ceil", "math.ceil(x)"},
    {"copysign", "math.copysign(x, y)"},
    {"divmod", "divmod(x, y)"},
    {"exp", "math.exp(x)"},
    {"exp2", "math.exp2(x)"},
    {"expm1", "math.expm1(x)"},
    {"fabs", "math.fabs(x)"},
    {"float_power", "x ** y"},
    {"floor", "math.floor(x)"},
    {"floor_divide", "x // y"},
    {"fmod", "math.fmod(x, y)"},
    {"isfinite", "math.isfinite(x)"},
    {"isinf", "math.isinf(x)"},
    {"ldexp", "math.ldexp(x, i)"},
    {"log1p", "math.log1p(x)"},
    {"multiply", "x * y"},
    {"negative", "-x"},
    {"nextafter", "math.nextafter(x, y)"},
    {"positive", "+x"},
    {"power", "x ** y"},
    {"reciprocal", "1 / x"},
    {"remainder", "x % y"},
    {"rint", "round(x)"},
    {"sqrt", "math.sqrt(x)"},
    {"square", "x * x"},
    {"subtract", "x - y"},
    {"trunc", "math.trunc(x)"},
};

constexpr Callable rows[] = {
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.arccos", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.arccosh", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.arcsin", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.arcsinh", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.arctan", "x out="),
    ufunc<type_as_math<floats>, emit_as_math>("numpy.arctan2", "x1 x2 out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.arctanh", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.cos", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.cosh", "x out="),
    ufunc<type_as_math<floats>, emit_as_math>("numpy.deg2rad", "x out="),
    ufunc<type_as_math<floats>, emit_as_math>("numpy.degrees", "x out="),
    ufunc<type_as_math<floats>, emit_as_math>("numpy.hypot", "x1 x2 out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.log", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.log10", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.log2", "x out="),
    ufunc<type_as_math<floats>, emit_as_math>("numpy.rad2deg", "x out="),
    ufunc<type_as_math<floats>, emit_as_math>("numpy.radians", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.sin", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.sinh", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.tan", "x out="),
    ufunc<type_as_math<floats | complexes>, emit_as_math>("numpy.tanh", "x out="),
    ufunc<type_in_loop<floats | complexes>, emit_divide>("numpy.divide", "x1 x2 out="),
    ufunc<type_in_loop<integers | floats | complexes>, emit_conjugate>("numpy.conjugate", "x out="),
    ufunc<type_in_loop<booleans | integers>, emit_invert>("numpy.invert", "x out="),
    ufunc<type_boolean<any>, emit_is_nan>("numpy.isnan", "x out="),
    ufunc<type_operator<booleans | integers>, emit_operator>("numpy.bitwise_and", "x1 x2 out="),
    ufunc<type_operator<booleans | integers>, emit_operator>("numpy.bitwise_or", "x1 x2 out="),
    ufunc<type_operator<booleans | integers>, emit_operator>("numpy.bitwise_xor", "x1 x2 out="),
    ufunc<type_operator<integers>, emit_operator>("numpy.left_shift", "x1 x2 out="),
    ufunc<type_operator<integers>, emit_operator>("numpy.right_shift", "x1 x2 out="),
    ufunc<type_comparison, emit_comparison>("numpy.equal", "x1 x2 out="),
    ufunc<type_comparison, emit_comparison>("numpy.not_equal", "x1 x2 out="),
    ufunc<type_comparison, emit_comparison>("numpy.less", "x1 x2 out="),
    ufunc<type_comparison, emit_comparison>("numpy.less_equal", "x1 x2 out="),
    ufunc<type_comparison, emit_comparison>("numpy.greater", "x1 x2 out="),
    ufunc<type_comparison, emit_comparison>("numpy.greater_equal", "x1 x2 out="),
    ufunc<type_boolean<any>, emit_logic>("numpy.logical_and", "x1 x2 out="),
    ufunc<type_boolean<any>, emit_logic>("numpy.logical_or", "x1 x2 out="),
    ufunc<type_boolean<any>, emit_logic>("numpy.logical_xor", "x1 x2 out="),
    ufunc<type_boolean<any>, emit_logic>("numpy.logical_not", "x out="),
    ufunc<type_extremum, emit_extremum>("numpy.minimum", "x1 x2 out="),
    ufunc<type_extremum, emit_extremum>("numpy.maximum", "x1 x2 out="),
    ufunc<type_extremum, emit_extremum>("numpy.fmin", "x1 x2 out="),
    ufunc<type_extremum, emit_extremum>("numpy.fmax", "x1 x2 out="),
};

}  // namespace

std::span<const Callable> ufunc_callables() {
    return rows;
}

std::string_view instead_of_ufunc(std::string_view name) {
    for (const Missing& row : missing) {
        if (name == "numpy." + std::string(row.name)) return row.instead;
    }
    return {};
}

}  // namespace cudasim::pykernel
