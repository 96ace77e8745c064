// See added_operations.h.
#include "frontend/pykernel/infer/added_operations.h"

#include <algorithm>
#include <array>

#include "frontend/pykernel/infer/operators.h"

namespace cudasim::pykernel {
namespace {

bool any_added(std::span<const TypeRef> types) {
    return std::ranges::any_of(types,
                               [](TypeRef type) { return type && type->present()->is(TypeKind::added); });
}

/// Tries numbers for the operands from one on, with those before replaced.
struct Conversions {
    Program& program;
    Location place;
    std::vector<TypeRef> operands, numbers, converted;
    const std::function<Resolution(const std::vector<TypeRef>&)>& attempt;

    Resolution from(std::size_t i) {
        while (i < operands.size() && !(operands[i] && operands[i]->present()->is(TypeKind::added))) ++i;
        if (i == operands.size()) return with_these();
        const TypeRef own = operands[i]->present();
        for (TypeRef number : numbers) {
            if (!program.ask_for_cast(own, number, place)) continue;
            operands[i] = converted[i] = number;
            if (Resolution found = from(i + 1); found.result) return found;
        }
        operands[i] = own;
        return {};
    }

    Resolution with_these() {
        Resolution found;
        try {
            found = attempt(operands);
        } catch (const SourceError&) {
            return {};
        }
        found.arguments = converted;
        return found;
    }
};

}  // namespace

std::optional<Resolution> added_operation(Program& program, const std::string& function,
                                          std::span<const TypeRef> operands, Location place) {
    const auto number = any_added(operands) ? program.operation(function) : std::nullopt;
    if (!number) return std::nullopt;
    Resolution call{.callee = *number};
    for (TypeRef operand : operands) {
        call.sources.push_back(static_cast<std::uint32_t>(call.sources.size()));
        call.arguments.push_back(operand->present());
    }
    call.given = call.arguments;
    program.resolve(*number, call, place);
    return call;
}

Resolution resolve_added(Program& program, Location place, const std::string& function,
                         std::span<const TypeRef> operands) {
    if (auto found = added_operation(program, function, operands, place)) return std::move(*found);
    std::vector<std::string> names;
    for (TypeRef type : operands) names.push_back(program.types.without_literal(type)->name);
    const std::string name = function.substr(function.rfind('.') + 1);
    refuse_no_implementation("<built-in function " + name + ">", name, names, place);
}

const Resolution* Program::ask_for_cast(TypeRef from, TypeRef to, Location place) {
    if (from == to || (!from->is(TypeKind::added) && !to->is(TypeKind::added))) return nullptr;
    from = types.without_literal(from);
    const auto [known, is_new] = casts_.try_emplace({from, to});
    const auto number = is_new ? operation("cast to " + to->request_name()) : std::nullopt;
    if (number) {
        Resolution call{.sources = {0}, .callee = *number, .given = {from}, .arguments = {from}};
        try {
            resolve(*number, call, place);
            known->second = std::move(call);
        } catch (const SourceError& refused) {
            if (refused.error_class == ErrorClass::lowering) throw;
            // No implementation takes it.
        }
    }
    return cast(from, to);
}

const Resolution* Program::cast(TypeRef from, TypeRef to) const {
    const auto found = casts_.find({from, to});
    return found != casts_.end() && found->second ? &*found->second : nullptr;
}

const Iteration& Program::ask_for_iteration(TypeRef over, Location place) {
    if (const auto known = iterations_.find(over); known != iterations_.end()) return known->second;
    Resolution begin = resolve_added(*this, place, "getiter", {&over, 1});
    Resolution next = resolve_added(*this, place, "iternext", {&begin.result, 1});
    return iterations_.emplace(over, Iteration{std::move(begin), std::move(next)}).first->second;
}

const Iteration& Program::iteration(TypeRef over) const {
    return iterations_.at(over);
}

const Resolution& Program::added_constant(const GlobalValue& value) const {
    return added_constants_.at(value.bytes);
}

std::optional<Resolution> added_operator(Program& program, Operator op, std::span<const TypeRef> operands,
                                         Location place) {
    // Identity is nothing that a program says; `value in container` is contains(container, value).
    if (op == Operator::is || op == Operator::is_not) return std::nullopt;
    const bool swapped = op == Operator::in || op == Operator::not_in;
    std::vector<TypeRef> given(operands.begin(), operands.end());
    if (swapped) std::ranges::reverse(given);
    auto call = added_operation(program, std::string("operator.") + function_name(op), given, place);
    if (!call) return std::nullopt;
    call->op = op;
    if (swapped) std::ranges::reverse(call->sources);
    if (swapped) call->result = program.types.boolean;
    return call;
}

std::optional<Resolution> added_in_place(Program& program, const Instruction& at, TypeRef left,
                                         TypeRef right) {
    std::string name = function_name(at.op);
    if (name.ends_with('_')) name.pop_back();
    try {
        return added_operation(program, "operator.i" + name, std::array{left, right}, at.location);
    } catch (const SourceError& refused) {
        if (refused.error_class != ErrorClass::typing) throw;
        return std::nullopt;
    }
}

bool is_added_iterator(Program& program, TypeRef type, Location place) {
    try {
        return added_operation(program, "iternext", {&type, 1}, place).has_value();
    } catch (const SourceError& refused) {
        if (refused.error_class != ErrorClass::typing) throw;
        return false;
    }
}

Resolution added_condition(Program& program, TypeRef operand, Location place) {
    const TypeTable& types = program.types;
    try {
        return resolve_added(program, place, "bool", {&operand, 1});
    } catch (const SourceError& refused) {
        if (refused.error_class != ErrorClass::typing) throw;
        for (TypeRef number : {types.boolean, types.float64, types.int64, types.complex128, types.float32})
            if (const Resolution* cast = program.ask_for_cast(operand->present(), number, place))
                return *cast;
        throw;
    }
}

std::optional<Resolution> added_call(Program& program, const Instruction& call, const std::string& function,
                                     std::span<const TypeRef> types) {
    const auto number = any_added(types.subspan(1)) ? program.operation(function) : std::nullopt;
    if (!number) return std::nullopt;
    const auto type_of = [&](ValueId operand) {
        const auto place = std::ranges::find(call.operands, operand) - call.operands.begin();
        return types[static_cast<std::size_t>(place)]->present();
    };
    Resolution result = program.bound(*number, call, type_of);
    program.resolve(*number, result, call.location);
    return result;
}

Resolution by_conversion(Program& program, Location place, std::vector<TypeRef> operands,
                         const std::function<Resolution(const std::vector<TypeRef>&)>& attempt) {
    if (!any_added(operands)) return {};
    const TypeTable& types = program.types;
    std::vector<TypeRef> numbers;
    for (TypeRef operand : operands) {
        if (operand && operand->is(TypeKind::array)) operand = operand->element();
        if (operand && operand->is_numeric()) numbers.push_back(types.without_literal(operand));
    }
    for (TypeRef number :
         {types.float64, types.int64, types.complex128, types.float32, types.int32, types.boolean})
        numbers.push_back(number);
    std::vector<TypeRef> converted(operands.size(), nullptr);
    return Conversions{program, place, std::move(operands), std::move(numbers), std::move(converted), attempt}
        .from(0);
}

bool takes_converted(std::string_view function) {
    static constexpr std::string_view families[] = {"math.", "operator.", "cuda.atomic.", "cuda.libdevice."};
    static constexpr std::string_view others[] = {"abs", "bool", "divmod", "pow", "range", "round"};
    return std::ranges::find(others, function) != std::end(others) ||
           std::ranges::any_of(families,
                               [&](std::string_view family) { return function.starts_with(family); });
}

}  // namespace cudasim::pykernel
