// The order in which rules are tried.
#include "frontend/pykernel/operations/rules.h"

#include <initializer_list>
#include <string_view>
#include <vector>

#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {
namespace {

using Families = std::initializer_list<std::span<const Rule>>;

/// Those with these parameters.
std::vector<const Rule*> rules_of(std::string_view parameters, Families families) {
    std::vector<const Rule*> rules;
    for (auto family : families) {
        for (const Rule& rule : family) {
            if (rule.parameters == parameters) rules.push_back(&rule);
        }
    }
    return rules;
}

}  // namespace

std::span<const Rule* const> binary_rules() {
    static const auto rules =
        rules_of("left right", {number_operators(), other_operators(), tuple_operators()});
    return rules;
}

std::span<const Rule* const> unary_rules() {
    static const auto rules = rules_of("operand", {number_operators(), other_operators()});
    return rules;
}

std::span<const Rule* const> attribute_rules() {
    static const auto rules = rules_of("object", {attributes()});
    return rules;
}

std::span<const Rule* const> get_item_rules() {
    static const auto rules = rules_of("container index", {items()});
    return rules;
}

std::span<const Rule* const> place_rules() {
    static const auto rules = rules_of("memory index", {items()});
    return rules;
}

std::span<const Rule* const> unpack_rules() {
    static const auto rules = rules_of("sequence", {items()});
    return rules;
}

std::span<const Rule* const> set_item_rules() {
    static const auto rules = rules_of("container index value", {assignments()});
    return rules;
}

std::span<const Rule* const> set_attribute_rules() {
    static const auto rules = rules_of("object value", {assignments()});
    return rules;
}

Emitted emit_known(CallEmission& operation) {
    const TypeRef type = operation.resolution.result;
    if (!type->literal) return {type, {}};
    return operation.emitter.number(operation.emitter.builder.getInt1(*type->literal != 0), type);
}

}  // namespace cudasim::pykernel
