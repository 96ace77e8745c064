// NumPy's ufuncs on numbers (not on arrays), those that Numba's CUDA target has: it knows trigonometry,
// logarithms, comparisons, bits, minimum and maximum, and fails with a KeyError on the rest (np.sqrt, np.exp,
// np.abs, np.floor ...).
//
// A ufunc computes in the first of its loops, NumPy's, to which all operands convert safely. Where one
// operand is a float, integers convert to any float (a fact about Numba: int64 with float32 gives float32).
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/callables.h"

namespace cudasim::pykernel {
namespace {

std::string_view own_name(const Callable& callable) {
    return callable.name.substr(std::string_view("numpy.").size());
}

bool converts_safely(TypeRef from, TypeRef to, bool any_float) {
    if (from->kind == to->kind && from->bits == to->bits && from->is_signed == to->is_signed) return true;
    if (from->is(TypeKind::boolean)) return true;
    if (to->is(TypeKind::boolean)) return false;
    if (from->is(TypeKind::floating)) return to->is(TypeKind::floating) && from->bits <= to->bits;
    if (to->is(TypeKind::floating)) return any_float || from->bits <= 16 || to->bits == 64;
    if (from->is_signed == to->is_signed) return from->bits <= to->bits;
    return !from->is_signed && from->bits < to->bits;
}

enum Loops : unsigned { booleans = 1, integers = 2, floats = 4 };

/// The type that the operands convert to. @throws SourceError when no loop takes them
TypeRef loop_of(TypeTable& t, std::span<const TypeRef> operands, unsigned loops) {
    const bool any_float =
        std::ranges::any_of(operands, [](TypeRef type) { return type->is(TypeKind::floating); });
    for (TypeRef candidate : {t.boolean, t.int8, t.uint8, t.int16, t.uint16, t.int32, t.uint32, t.int64,
                              t.uint64, t.float32, t.float64}) {
        const unsigned kind = candidate->is(TypeKind::boolean)   ? booleans
                              : candidate->is(TypeKind::integer) ? integers
                                                                 : floats;
        const bool takes_all = std::ranges::all_of(
            operands, [&](TypeRef type) { return converts_safely(type, candidate, any_float); });
        if ((loops & kind) && takes_all) return candidate;
    }
    return nullptr;
}

template <unsigned loops>
TypeRef type_in_loop(const CallTyping& call) {
    if (call.arguments.back())
        refuse_unsupported(
            std::string(call.callable.name) + "() with an output array is not supported in kernels yet",
            call.call.location);
    const auto operands = std::span(call.arguments).first(call.size() - 1);
    for (TypeRef type : operands) {
        if (!type->is_number()) call.no_match();
    }
    const TypeRef loop = loop_of(call.types(), operands, loops);
    if (!loop) call.no_match();
    return loop;
}

template <unsigned loops>
TypeRef type_boolean(const CallTyping& call) {
    static_cast<void>(type_in_loop<loops>(call));
    return call.types().boolean;
}

/// The function of the math module that computes the same.
Emitted emit_as_math(CallEmission& call) {
    static constexpr std::pair<std::string_view, std::string_view> other_names[] = {
        {"arccos", "acos"},   {"arccosh", "acosh"},   {"arcsin", "asin"},
        {"arcsinh", "asinh"}, {"arctan", "atan"},     {"arctan2", "atan2"},
        {"arctanh", "atanh"}, {"deg2rad", "radians"}, {"rad2deg", "degrees"}};
    std::string_view name = own_name(call.callable);
    for (const auto& [numpy, math] : other_names) {
        if (name == numpy) name = math;
    }
    const Callable* row = find_callable("math." + std::string(name));
    CallEmission inner{call.emitter, *row, call.call, {}};
    for (const Emitted& argument : call.arguments) {
        if (argument.type) inner.arguments.push_back(call.emitter.convert(argument, call.call.type));
    }
    return row->emit(inner);
}

Emitted emit_conversion(CallEmission& call) {
    return call.emitter.convert(call[0], call.call.type);
}

Emitted emit_invert(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    return e.number(e.builder.CreateNot(e.convert(call[0], call.call.type).value()), call.call.type);
}

Emitted emit_is_nan(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    if (!call[0].type->is(TypeKind::floating)) return e.number(e.builder.getFalse(), call.call.type);
    return e.number(e.builder.CreateFCmpUNO(call[0].value(), call[0].value()), call.call.type);
}

/// IEEE division; unlike the operator it does not ask for a zero divisor.
Emitted emit_divide(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
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

/// An operator on operands of the loop's type.
Emitted emit_operator(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const Operator op = operator_of(own_name(call.callable));
    if (is_comparison(op)) return e.binary(op, call[0], call[1]);
    return e.convert(e.binary(op, e.convert(call[0], type), e.convert(call[1], type)), type);
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

/// minimum and maximum give the NaN, fmin and fmax the number; of equals the first.
Emitted emit_extremum(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const std::string_view name = own_name(call.callable);
    const bool smaller = name == "minimum" || name == "fmin",
               prefers_nan = name == "minimum" || name == "maximum";
    const Emitted a = e.convert(call[0], type), b = e.convert(call[1], type);
    llvm::Value* first = e.binary(smaller ? Operator::less_equal : Operator::greater_equal, a, b).value();
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
    {"numpy.arccos", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.arccosh", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.arcsin", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.arcsinh", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.arctan", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.arctan2", "x1 x2 out=", type_in_loop<floats>, emit_as_math},
    {"numpy.arctanh", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.cos", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.cosh", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.deg2rad", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.degrees", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.hypot", "x1 x2 out=", type_in_loop<floats>, emit_as_math},
    {"numpy.log", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.log10", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.log2", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.rad2deg", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.radians", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.sin", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.sinh", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.tan", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.tanh", "x out=", type_in_loop<floats>, emit_as_math},
    {"numpy.divide", "x1 x2 out=", type_in_loop<floats>, emit_divide},
    {"numpy.conjugate", "x out=", type_in_loop<integers | floats>, emit_conversion},
    {"numpy.invert", "x out=", type_in_loop<booleans | integers>, emit_invert},
    {"numpy.isnan", "x out=", type_boolean<booleans | integers | floats>, emit_is_nan},
    {"numpy.bitwise_and", "x1 x2 out=", type_in_loop<booleans | integers>, emit_operator},
    {"numpy.bitwise_or", "x1 x2 out=", type_in_loop<booleans | integers>, emit_operator},
    {"numpy.bitwise_xor", "x1 x2 out=", type_in_loop<booleans | integers>, emit_operator},
    {"numpy.left_shift", "x1 x2 out=", type_in_loop<integers>, emit_operator},
    {"numpy.right_shift", "x1 x2 out=", type_in_loop<integers>, emit_operator},
    {"numpy.equal", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_operator},
    {"numpy.not_equal", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_operator},
    {"numpy.less", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_operator},
    {"numpy.less_equal", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_operator},
    {"numpy.greater", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_operator},
    {"numpy.greater_equal", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_operator},
    {"numpy.logical_and", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_logic},
    {"numpy.logical_or", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_logic},
    {"numpy.logical_xor", "x1 x2 out=", type_boolean<booleans | integers | floats>, emit_logic},
    {"numpy.logical_not", "x out=", type_boolean<booleans | integers | floats>, emit_logic},
    {"numpy.minimum", "x1 x2 out=", type_in_loop<booleans | integers | floats>, emit_extremum},
    {"numpy.maximum", "x1 x2 out=", type_in_loop<booleans | integers | floats>, emit_extremum},
    {"numpy.fmin", "x1 x2 out=", type_in_loop<booleans | integers | floats>, emit_extremum},
    {"numpy.fmax", "x1 x2 out=", type_in_loop<booleans | integers | floats>, emit_extremum},
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
