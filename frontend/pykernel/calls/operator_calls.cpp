// The functions of Python's module operator: each is the operator that it names, with its types. The in-place
// forms give a value as the plain ones do: numbers cannot be changed in place. The set is that of Numba's
// CUDA target.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <array>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/infer/added_operations.h"
#include "frontend/pykernel/infer/operators.h"
#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {
namespace {

struct Named {
    std::string_view name;
    Operator op;
};

constexpr Named operators[] = {
    {"add", Operator::add},
    {"sub", Operator::subtract},
    {"mul", Operator::multiply},
    {"truediv", Operator::true_divide},
    {"floordiv", Operator::floor_divide},
    {"mod", Operator::modulo},
    {"pow", Operator::power},
    {"lshift", Operator::left_shift},
    {"rshift", Operator::right_shift},
    {"and_", Operator::bit_and},
    {"or_", Operator::bit_or},
    {"xor", Operator::bit_xor},
    {"eq", Operator::equal},
    {"ne", Operator::not_equal},
    {"lt", Operator::less},
    {"le", Operator::less_equal},
    {"gt", Operator::greater},
    {"ge", Operator::greater_equal},
    {"is_", Operator::is},
    {"is_not", Operator::is_not},
    {"neg", Operator::negate},
    {"pos", Operator::plus},
    {"invert", Operator::invert},
    {"not_", Operator::logical_not},
};

/// "operator.iadd" is operator.add; "operator.invert", "operator.is_" are what they are.
Operator operator_of(const Callable& callable) {
    std::string_view name = callable.name.substr(std::string_view("operator.").size());
    auto find = [&] { return std::ranges::find(operators, name, &Named::name); };
    if (find() != std::end(operators)) return find()->op;
    name.remove_prefix(1);
    if (name == "and" || name == "or") return name == "and" ? Operator::bit_and : Operator::bit_or;
    return find()->op;
}

TypeRef meaning(const CallTyping& call, Resolution operation) {
    return call.resolution.inner.emplace_back(std::move(operation)).result;
}

TypeRef type_binary(const CallTyping& call) {
    return meaning(call,
                   resolve_binary(call.program, call.call, operator_of(call.callable), call[0], call[1]));
}

Emitted emit_binary(CallEmission& call) {
    return call.apply(0, {call[0], call[1]});
}

TypeRef type_unary(const CallTyping& call) {
    return meaning(call, resolve_unary(call.program, call.call, operator_of(call.callable), call[0]));
}

Emitted emit_unary(CallEmission& call) {
    return call.apply(0, {call[0]});
}

TypeRef type_contains(const CallTyping& call) {
    return meaning(call, resolve_binary(call.program, call.call, Operator::in, call[1], call[0]));
}

Emitted emit_contains(CallEmission& call) {
    return call.apply(0, {call[1], call[0]});
}

TypeRef type_get_item(const CallTyping& call) {
    return meaning(call, resolve_get_item(call.program, call.call, call[0], call[1]));
}

TypeRef type_set_item(const CallTyping& call) {
    const TypeRef array = call[0];
    const bool fits = array->is(TypeKind::array) && !array->read_only && call[2]->is_scalar() &&
                      conversion(call[2], array->element()) != Conversion::none &&
                      resolve_get_item(call.program, call.call, array, call[1]).result->is_scalar();
    if (!fits) call.no_match();
    return meaning(call, resolve_set_item(call.program, call.call, array, call[1], call[2]));
}

Emitted emit_set_item(CallEmission& call) {
    return call.apply(0, {call[0], call[1], call[2]});
}

TypeRef type_truth(const CallTyping& call) {
    if (call[0]->is(TypeKind::added))
        return meaning(call, added_condition(call.program, call[0], call.call.location)),
               call.types().boolean;
    if (!call[0]->is(TypeKind::tuple)) call.no_match("operator.truth takes tuples");  // as Numba
    return call.types().boolean;
}

Emitted emit_truth(CallEmission& call) {
    const bool is_added = !call.resolution.inner.empty();
    const Emitted tested = is_added ? call.apply(0, {call[0]}) : call[0];
    return call.emitter.number(call.emitter.truth(tested), call.call.type);
}

#define BINARY(name) {"operator." name, "a b", type_binary, emit_binary}
#define UNARY(name) {"operator." name, "a", type_unary, emit_unary}
constexpr Callable rows[] = {
    BINARY("add"),
    BINARY("sub"),
    BINARY("mul"),
    BINARY("truediv"),
    BINARY("floordiv"),
    BINARY("mod"),
    BINARY("pow"),
    BINARY("lshift"),
    BINARY("rshift"),
    BINARY("and_"),
    BINARY("or_"),
    BINARY("xor"),
    BINARY("eq"),
    BINARY("ne"),
    BINARY("lt"),
    BINARY("le"),
    BINARY("gt"),
    BINARY("ge"),
    BINARY("is_"),
    BINARY("is_not"),
    BINARY("iadd"),
    BINARY("isub"),
    BINARY("imul"),
    BINARY("itruediv"),
    BINARY("ifloordiv"),
    BINARY("imod"),
    BINARY("ipow"),
    BINARY("ilshift"),
    BINARY("irshift"),
    BINARY("iand"),
    BINARY("ior"),
    BINARY("ixor"),
    UNARY("neg"),
    UNARY("pos"),
    UNARY("invert"),
    UNARY("not_"),
    {"operator.truth", "a", type_truth, emit_truth},
    {"operator.contains", "a b", type_contains, emit_contains},
    {"operator.getitem", "a b", type_get_item, emit_binary},
    {"operator.setitem", "a b c", type_set_item, emit_set_item},
};
#undef BINARY
#undef UNARY

}  // namespace

std::span<const Callable> operator_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
