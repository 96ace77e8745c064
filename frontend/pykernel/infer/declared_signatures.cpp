// Which of a device function's declared signatures a call fits, and how well.
#include <tuple>

#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

std::optional<int> conversion_cost(TypeRef given, TypeRef wanted) {
    if (given->is(TypeKind::dim3) && wanted->is(TypeKind::dim3)) return 0;
    if (wanted->is(TypeKind::optional) || given->is(TypeKind::optional)) {
        if (given->is(TypeKind::none) || given == wanted) return 0;
        const auto one = conversion_cost(given->is(TypeKind::optional) ? given->element() : given,
                                         wanted->is(TypeKind::optional) ? wanted->element() : wanted);
        return one ? std::optional(*one + 1) : std::nullopt;
    }
    if (given->is(TypeKind::array) && wanted->is(TypeKind::array)) {
        const bool same = given->element() == wanted->element() && given->dimensions == wanted->dimensions &&
                          (given->aligned || !wanted->aligned);
        if (!same || (given->layout != wanted->layout && wanted->layout != 'A')) return std::nullopt;
        return given->layout == wanted->layout ? 0 : 1;
    }
    if (given->is(TypeKind::tuple) && wanted->is(TypeKind::tuple)) {
        if (given->elements.size() != wanted->elements.size() || given->class_name != wanted->class_name)
            return std::nullopt;
        int total = 0;
        for (std::size_t i = 0; i < given->elements.size(); ++i) {
            const auto one = conversion_cost(given->elements[i], wanted->elements[i]);
            if (!one) return std::nullopt;
            total += *one;
        }
        return total;
    }
    if (given->is(TypeKind::record) && wanted->is(TypeKind::record))
        return holds_fields_of(given, wanted) ? std::optional(given->name == wanted->name ? 0 : 100)
                                              : std::nullopt;
    const Conversion step = conversion(given, wanted);
    static constexpr int weights[] = {0, 1, 100, 10000};
    return step == Conversion::none ? std::nullopt : std::optional(weights[static_cast<int>(step)]);
}

std::pair<std::vector<TypeRef>, TypeRef> Program::declared(const FunctionSource& source,
                                                           const std::vector<TypeRef>& given, Location call) {
    std::pair<std::vector<TypeRef>, TypeRef> best;
    std::optional<int> lowest_cost;
    std::string shown;
    for (const DeclaredSignature& signature : source.signatures) {
        std::vector<TypeRef> wanted;
        std::optional<int> total = 0;
        for (const std::string& name : signature.arguments) {
            const TypeRef type = types.parse(name);
            if (!type) refuse_unsupported("arguments of type " + name + " are not supported yet", call);
            wanted.push_back(type);
            shown += (wanted.size() == 1 ? (shown.empty() ? "(" : "; (") : ", ") +
                     (type->is(TypeKind::added) ? type->name : name);
        }
        shown += ")";
        for (std::size_t i = 0; total && i < given.size(); ++i) {
            auto one = i < wanted.size() ? conversion_cost(given[i], wanted[i]) : std::nullopt;
            if (!one && i < wanted.size() && ask_for_cast(given[i], wanted[i], call)) one = 100;
            total =
                one && (*one <= 1 || !source.exact_signatures) ? std::optional(*total + *one) : std::nullopt;
            if (one && given[i]->is(TypeKind::dim3)) wanted[i] = given[i];
            // A declared array or record may lie in any memory.
            if (one && given[i]->is(TypeKind::record))
                wanted[i] = types.record_in(wanted[i], given[i]->address_space, given[i]->read_only);
            if (one && given[i]->is(TypeKind::array)) {
                wanted[i] = types.array(given[i]->element(), given[i]->dimensions, wanted[i]->layout,
                                        given[i]->address_space, given[i]->read_only, given[i]->aligned);
            }
        }
        if (!total || wanted.size() != given.size() || (lowest_cost && *lowest_cost <= *total)) continue;
        lowest_cost = total;
        best = {wanted, signature.result.empty() ? nullptr : types.parse(signature.result)};
    }
    if (lowest_cost) return best;
    std::string types_given;
    for (TypeRef type : given) types_given += (types_given.empty() ? "" : ", ") + type->name;
    refuse_typing("No declared signature of " + source.syntax.name + "() fits the argument types (" +
                      types_given + "); declared: " + shown,
                  call);
}

}  // namespace cudasim::pykernel
