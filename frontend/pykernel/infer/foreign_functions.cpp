#include "frontend/pykernel/infer/foreign_functions.h"

namespace cudasim::pykernel {

TypeRef declared_type(Program& program, const GlobalValue& callee, std::size_t i, Location place) {
    const std::string& name = callee.elements[i].type_name;
    const TypeRef type = program.types.parse(name);
    const bool known = type && (type->is_number() || type->is(TypeKind::pointer) || type->is(TypeKind::none));
    if (!known)
        refuse_typing("the declared function '" + callee.text + "' has the type " + name +
                          "; numbers and pointers (types.CPointer) can be passed to foreign functions",
                      place, Standing::never);
    return type;
}

namespace {

bool fits(TypeRef given, TypeRef wanted) {
    if (wanted->is(TypeKind::pointer))
        return given == wanted || (given->is(TypeKind::pointer) && wanted->element()->is(TypeKind::none));
    return given->is_number() && conversion_cost(given, wanted).has_value();
}

}  // namespace

TypeRef type_foreign_call(Program& program, const GlobalValue& callee, const Instruction& call,
                          const std::vector<TypeRef>& given) {
    const std::size_t count = callee.elements.size() - 1;
    if (!call.keywords.empty())
        refuse_typing("the declared function '" + callee.text + "' takes no keyword arguments", call.location,
                      Standing::never);
    bool all_fit = given.size() == count;
    std::string shown;
    for (std::size_t i = 0; i < given.size(); ++i) {
        all_fit = all_fit && fits(given[i], declared_type(program, callee, i, call.location));
        shown += (shown.empty() ? "" : ", ") + given[i]->name;
    }
    if (all_fit) return declared_type(program, callee, count, call.location);
    std::string wanted;
    for (std::size_t i = 0; i < count; ++i) wanted += (i ? ", " : "") + callee.elements[i].type_name;
    refuse_typing("No implementation of function " + callee.text + " for (" + shown +
                      "): it is declared with (" + wanted + ")",
                  call.location, Standing::never);
}

}  // namespace cudasim::pykernel
