// Calls of values that are no functions of the request and have no name in
// calls/: types, classes of named tuples and of exceptions, functions that were
// declared with cuda.declare_device().
#include <algorithm>

#include "frontend/pykernel/operations/rules.h"

namespace cudasim::pykernel {
namespace {

/// np.float32(x). Of a date it is the count of units.
TypeRef type_conversion(const CallTyping& call) {
    const TypeRef target = call.resolution.called->element();
    const TypeRef given = call.size() == 1 && call.call.keywords.empty() ? call[0] : nullptr;
    if (given && given->is_date() && (target->is(TypeKind::integer) || target == given)) return target;
    const bool number = given && given->is_numeric();
    if (number) check_castable(given, target, call.call.location);
    if (!number || !target->is_numeric()) {
        refuse_typing("Invalid use of class(" + target->name +
                          "): no implementation for these arguments, it converts one number",
                      call.call.location);
    }
    return target;
}

Emitted emit_conversion(CallEmission& call) {
    return call.emitter.convert(call[0], call.resolution.result);
}

TypeRef type_named_tuple(const CallTyping& call) {
    const GlobalValue& tuple_class = *call.resolution.called->global;
    call.resolution.sources = bind_fields(call.call, tuple_class.names);
    std::vector<TypeRef> elements;
    for (std::uint32_t operand : call.resolution.sources) elements.push_back(call[operand - 1]);
    return call.types().named_tuple(tuple_class.text, tuple_class.names, std::move(elements));
}

Emitted emit_named_tuple(CallEmission& call) {
    Emitted result{call.resolution.result, {}};
    for (const Emitted& element : call.arguments) result.parts.append(element.parts);
    return result;
}

TypeRef type_exception(const CallTyping& call) {
    if (!call.call.has_message) {
        refuse_unsupported("the arguments of an exception raised in a kernel must be constants",
                           call.call.location, Standing::not_gpu_code);
    }
    call.resolution.sources.clear();
    return call.types().exception(*call.resolution.called->global, call.call.message);
}

/// Type `i` of a declared function: of an argument, or the result's, which is
/// the last.
TypeRef declared_type(const CallTyping& call, const GlobalValue& function, std::size_t i) {
    const std::string& name = function.elements[i].type_name;
    const TypeRef type = call.types().parse(name);
    const bool known = type && (type->is_number() || type->is(TypeKind::pointer) || type->is(TypeKind::none));
    if (!known)
        refuse_typing("the declared function '" + function.text + "' has the type " + name +
                          "; numbers and pointers (types.CPointer) can be passed "
                          "to foreign functions",
                      call.call.location, Standing::never);
    return type;
}

bool fits(TypeRef given, TypeRef wanted) {
    if (wanted->is(TypeKind::pointer))
        return given == wanted || (given->is(TypeKind::pointer) && wanted->element()->is(TypeKind::none));
    return given->is_number() && conversion_cost(given, wanted).has_value();
}

/// A function that comes from linked PTX (frontend/ptx). The parameters are
/// what it is declared with.
TypeRef type_foreign(const CallTyping& call) {
    const GlobalValue& function = *call.resolution.called->global;
    const Location place = call.call.location;
    const std::size_t count = function.elements.size() - 1;
    if (!call.call.keywords.empty())
        refuse_typing("the declared function '" + function.text + "' takes no keyword arguments", place,
                      Standing::never);
    bool all_fit = call.size() == count;
    std::string shown;
    for (std::size_t i = 0; i < call.size(); ++i) {
        if (all_fit) call.resolution.parameters.push_back(declared_type(call, function, i));
        all_fit = all_fit && fits(call[i], call.resolution.parameters[i]);
        shown += (shown.empty() ? "" : ", ") + call[i]->name;
    }
    if (all_fit) return declared_type(call, function, count);
    std::string wanted;
    for (std::size_t i = 0; i < count; ++i) wanted += (i ? ", " : "") + function.elements[i].type_name;
    refuse_typing("No implementation of function " + function.text + " for (" + shown +
                      "): it is declared with (" + wanted + ")",
                  place, Standing::never);
}

/// Numba's convention: `int symbol(result*, arguments...)`, its status is not
/// looked at; C's: `result symbol(arguments...)` (Numba's documentation,
/// "Writing CUDA-Python", calling foreign functions).
Emitted emit_foreign(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const GlobalValue& function = *call.resolution.called->global;
    const bool c_convention = function.integer != 0;
    const TypeRef result = call.resolution.result;
    llvm::SmallVector<llvm::Value*> arguments;
    llvm::AllocaInst* slot = nullptr;
    if (!c_convention) {
        slot = e.entry_alloca(result->is_number() ? e.module.memory_type(result) : e.builder.getInt64Ty(),
                              function.text + ".result");
        arguments.push_back(slot);
    }
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const TypeRef type = call.resolution.parameters[i];
        if (type->is(TypeKind::pointer))
            arguments.push_back(call[i].value());
        else
            arguments.push_back(e.to_memory(e.convert(call[i], type).value(), type));
    }
    llvm::Type* nothing = e.builder.getVoidTy();
    llvm::Type* returned = !c_convention         ? e.builder.getInt32Ty()
                           : result->is_number() ? e.module.memory_type(result)
                                                 : nothing;
    if (c_convention && result->is(TypeKind::pointer))
        returned = llvm::PointerType::get(e.builder.getContext(), generic_space);
    llvm::Value* value = e.call(function.text, returned, arguments);
    if (result->is(TypeKind::none)) return {result, {}};
    if (!c_convention) {
        llvm::Type* stored = result->is_number()
                                 ? e.module.memory_type(result)
                                 : llvm::PointerType::get(e.builder.getContext(), generic_space);
        value = e.builder.CreateLoad(stored, slot);
    }
    return {result, {result->is_number() ? e.from_memory(value, result) : value}};
}

constexpr Rule conversion_rule{"a type", "*", type_conversion, emit_conversion};
constexpr Rule named_tuple_rule{"a class of named tuples", "*", type_named_tuple, emit_named_tuple, true};
constexpr Rule exception_rule{"a class of exceptions", "*", type_exception, emit_known, true};
constexpr Rule foreign_rule{"a declared function", "*", type_foreign, emit_foreign};

}  // namespace

const Rule* rule_of_call(TypeRef callee) {
    if (callee->is(TypeKind::data_type)) return &conversion_rule;
    if (!callee->is(TypeKind::object)) return nullptr;
    switch (callee->global->kind) {
        case GlobalKind::tuple_class:
            return &named_tuple_rule;
        case GlobalKind::exception:
            return &exception_rule;
        case GlobalKind::foreign:
            return &foreign_rule;
        default:
            return nullptr;
    }
}

}  // namespace cudasim::pykernel
