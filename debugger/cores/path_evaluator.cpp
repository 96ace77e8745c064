// See path_evaluator.h.
#include "debugger/cores/path_evaluator.h"

#include <algorithm>

#include "debugger/dap/special_registers.h"
#include "debugger/dap/thread_memory.h"
#include "debugger/values/path.h"

namespace cudasim::debugger {
namespace {

using execution::StoppedLaunch;
using execution::ThreadRef;

Evaluation refused(std::string why) {
    Evaluation result;
    result.text = std::move(why);
    return result;
}

Evaluation no_other_expressions(const std::string& expression) {
    return refused("'" + expression +
                   "' is more than a variable or a part of one, as x[3] or p.mass: this server has no Python "
                   "to evaluate it. `cudasim debug --core` has");
}

/// Whether a number counts as true; nothing for other values.
std::optional<bool> truth_of(const Value& value) {
    if (!value.unavailable.empty() || value.bytes.empty()) return std::nullopt;
    std::vector<std::byte> bytes = value.bytes;
    switch (value.type->kind) {
        case TypeKind::signed_number:
        case TypeKind::unsigned_number:
        case TypeKind::boolean:
            break;
        case TypeKind::floating:
            bytes.back() &= std::byte{0x7f};  // -0.0 is false
            break;
        default:
            return std::nullopt;
    }
    return std::ranges::any_of(bytes, [](std::byte each) { return each != std::byte{0}; });
}

}  // namespace

Evaluation PathEvaluator::evaluate(StoppedLaunch& launch, ThreadRef thread, std::uint32_t frame,
                                   const std::string& expression) {
    const std::optional<Path> path = path_from(expression);
    if (!path) return no_other_expressions(expression);
    std::optional<Value> value;
    for (const findings::VariableValue& each : launch.variables(thread))
        if (each.frame == frame && each.name == path->name) value = value_of(types_, each);
    if (!value)
        for (const SpecialRegister& each : special_registers(launch.launch().configuration, thread))
            if (each.name == path->name) value = each.value;
    if (!value) return refused("there is no variable '" + path->name + "' here");
    const ThreadMemory memory(launch, thread);
    for (const auto& step : path->steps) {
        if (!value) break;
        if (const auto* index = std::get_if<std::int64_t>(&step))
            value = element_of(*value, *index, memory);
        else
            value = member_of(*value, std::get<std::string>(step), memory);
    }
    if (!value) return refused("'" + path->name + "' has no such part: " + expression);
    if (!value->unavailable.empty()) return refused(expression + ": " + value->unavailable);
    Evaluation result;
    result.ok = true;
    result.text = text_of(*value, memory);
    result.type = type_text(*value);
    if (const std::optional<bool> truth = truth_of(*value))
        result.truth = *truth;
    else
        result.truth_doubt = expression + " is no number";
    return result;
}

Evaluation PathEvaluator::assign(StoppedLaunch& /*launch*/, ThreadRef /*thread*/, std::uint32_t /*frame*/,
                                 const std::string& target, const std::string& /*value*/) {
    if (!path_from(target)) return no_other_expressions(target);
    return refused("'" + target +
                   "' cannot be set by this server, which has no Python: it sets numbers and elements, each "
                   "to a number or to what another variable holds");
}

}  // namespace cudasim::debugger
