// The order in which rules are tried.
#include "frontend/pykernel/operations/rules.h"

#include <vector>

namespace cudasim::pykernel {
namespace {

std::vector<const Rule*> rules_of(std::size_t operands) {
    std::vector<const Rule*> rules;
    for (auto family : {number_operators(), other_operators(), tuple_operators()}) {
        for (const Rule& rule : family) {
            if (rule.parameters == (operands == 1 ? "operand" : "left right")) rules.push_back(&rule);
        }
    }
    return rules;
}

}  // namespace

std::span<const Rule* const> binary_rules() {
    static const std::vector<const Rule*> rules = rules_of(2);
    return rules;
}

std::span<const Rule* const> unary_rules() {
    static const std::vector<const Rule*> rules = rules_of(1);
    return rules;
}

Emitted emit_known(CallEmission& operation) {
    const TypeRef type = operation.resolution.result;
    if (!type->literal) return {type, {}};
    return operation.emitter.number(operation.emitter.builder.getInt1(*type->literal != 0), type);
}

}  // namespace cudasim::pykernel
