// Functions and lambdas inside a kernel. A name stands for one, and each call is inlined, so that `return`
// becomes a store to a result and a jump behind the call. Used as a value, as an argument of a device
// function, one is compiled for itself.
#include <algorithm>

#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {

FlowGraphBuilder::LocalFunction FlowGraphBuilder::local_function(const FunctionSyntax& syntax) {
    LocalFunction function{&syntax, locals_, functions_, {}};
    for (const Expression& value : syntax.defaults) {
        function.defaults.push_back(variable("", value.location, true));
        store(function.defaults.back(), expression(value), value.location);
    }
    return function;
}

void FlowGraphBuilder::define(const std::string& name, const FunctionSyntax& syntax) {
    if (functions_->contains(name) && !loops_.empty()) {
        refuse_unsupported("the function '" + name + "' inside a kernel is defined again in a loop",
                           syntax.location, Standing::not_gpu_code);
    }
    functions_->insert_or_assign(name, local_function(syntax));
    locals_.erase(name);
}

void FlowGraphBuilder::join_functions(const LocalFunctions& other) {
    for (const auto& [name, function] : other) {
        const auto [entry, is_new] = functions_->emplace(name, function);
        if (!is_new && entry->second.syntax != function.syntax) entry->second.syntax = nullptr;
    }
}

void FlowGraphBuilder::collect_nonlocals(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
        if (statement.kind == StatementKind::global_ && statement.text == "nonlocal") {
            for (const Expression& name : statement.targets) nonlocals_.insert(name.text);
        }
        collect_nonlocals(statement.body);
        collect_nonlocals(statement.otherwise);
    }
}

/// A function of its own, as one outside with @cuda.jit(device=True) would be.
ValueId FlowGraphBuilder::function_value(const FunctionSyntax& syntax, Location location) {
    std::set<std::string> around = source_.outer_locals;
    for (const auto& [name, variable] : locals_) around.insert(name);
    for (const auto& [name, function] : *functions_) around.insert(name);
    return constant(
        {.kind = GlobalKind::function, .text = syntax.name, .integer = inner_functions_(syntax, around)},
        location);
}

std::optional<FlowGraphBuilder::LocalFunction> FlowGraphBuilder::find_local_function(
    const Expression& syntax) {
    if (syntax.kind == ExpressionKind::lambda) return local_function(*syntax.function);
    if (syntax.kind != ExpressionKind::name) return std::nullopt;
    const auto found = functions_->find(syntax.text);
    if (found != functions_->end() && !found->second.syntax) {
        refuse_typing("Cannot unify the functions '" + syntax.text + "' that different paths define",
                      syntax.location);
    }
    return found != functions_->end() ? std::optional(found->second) : std::nullopt;
}

ValueId FlowGraphBuilder::inline_call(const LocalFunction& function, const Expression& call) {
    if (std::ranges::find(inlining_, function.syntax) != inlining_.end()) {
        refuse_unsupported("the function '" + function.syntax->name +
                               "' inside a kernel cannot call itself: define it outside, with "
                               "@cuda.jit(device=True)",
                           call.location, Standing::not_gpu_code);
    }
    const auto refuse = [&](const std::string& what) {
        refuse_unsupported(what +
                               ": functions inside a kernel are copied to where they are called. Define '" +
                               function.syntax->name + "' outside, with @cuda.jit(device=True)",
                           call.location, Standing::not_gpu_code);
    };
    if (inlining_.size() >= deepest_inlining)
        refuse("calls of functions inside a kernel are nested more than " + std::to_string(deepest_inlining) +
               " deep");
    if (++inlined_calls_ > most_inlined_calls)
        refuse("more than " + std::to_string(most_inlined_calls) +
               " calls of functions inside a kernel would be inlined");
    const auto first_own = static_cast<VariableId>(graph_.variables.size());
    Locals locals = function.outer;
    function_scopes_.push_back(*function.scope);
    LocalFunctions& functions = function_scopes_.back();
    bind_parameters(function, call, locals, functions);
    const InlinedReturn destination{variable("", call.location, true), new_block()};
    const auto restored =
        std::make_tuple(locals_, functions_, inlined_return_, loops_, nonlocals_, first_own_);
    locals_ = std::move(locals);
    functions_ = &functions;
    inlined_return_ = destination;
    first_own_ = first_own;
    loops_.clear();
    inlining_.push_back(function.syntax);
    copies_.push_back(reinterpret_cast<std::uintptr_t>(&call));
    nonlocals_.clear();
    collect_nonlocals(function.syntax->body);
    Locals own;
    std::swap(own, locals_);
    declare_locals(function.syntax->body);  // names that it assigns are its own, whatever they are outside
    for (const ParameterSyntax& parameter : function.syntax->parameters) locals_.erase(parameter.name);
    locals_.merge(own);
    body(function.syntax->body);
    store(destination.result, constant({.kind = GlobalKind::none}, call.location), call.location);
    jump(destination.after, call.location);
    inlining_.pop_back();
    copies_.pop_back();
    std::tie(locals_, functions_, inlined_return_, loops_, nonlocals_, first_own_) = restored;
    enter(destination.after);
    return load(destination.result, call.location);
}

/// Evaluates the arguments, in the function that calls, into the parameters.
void FlowGraphBuilder::bind_parameters(const LocalFunction& function, const Expression& call, Locals& locals,
                                       LocalFunctions& functions) {
    const FunctionSyntax& syntax = *function.syntax;
    const std::size_t count = syntax.parameters.size();
    const std::size_t positional = call.operands.size() - 1 - call.keywords.size();
    const bool starred = std::ranges::any_of(
        call.operands, [](const Expression& operand) { return operand.kind == ExpressionKind::starred; });
    if (syntax.takes_rest || starred)
        refuse_unsupported("`*` in calls of a function inside a kernel is not supported", call.location,
                           Standing::not_gpu_code);
    if (positional > count) {
        refuse_typing(syntax.name + "() takes " + std::to_string(count) + " arguments, but " +
                          std::to_string(positional) + " are given",
                      call.location);
    }
    for (const std::string& keyword : call.keywords) {
        const auto found = std::ranges::find(syntax.parameters, keyword, &ParameterSyntax::name);
        if (found == syntax.parameters.end())
            refuse_typing(syntax.name + "() has no parameter '" + keyword + "'", call.location);
        if (found - syntax.parameters.begin() < static_cast<std::ptrdiff_t>(positional))
            refuse_typing(syntax.name + "() gets parameter '" + keyword + "' twice", call.location);
    }
    const std::size_t first_default = count - function.defaults.size();
    for (std::size_t i = 0; i < count; ++i) {
        const ParameterSyntax& parameter = syntax.parameters[i];
        const auto keyword = std::ranges::find(call.keywords, parameter.name);
        const Expression* given = i < positional ? &call.operands[i + 1] : nullptr;
        if (keyword != call.keywords.end())
            given =
                &call.operands[positional + 1 + static_cast<std::size_t>(keyword - call.keywords.begin())];
        functions.erase(parameter.name);
        if (given) {
            if (const auto passed = find_local_function(*given)) {
                functions.emplace(parameter.name, *passed);
                locals.erase(parameter.name);
                continue;
            }
        } else if (i < first_default) {
            refuse_typing(syntax.name + "() needs an argument for parameter '" + parameter.name + "'",
                          call.location);
        }
        const ValueId value =
            given ? expression(*given) : load(function.defaults[i - first_default], call.location);
        locals[parameter.name] = variable(parameter.name, parameter.location);
        store(locals[parameter.name], value, call.location);
    }
}

void FlowGraphBuilder::return_statement(const Statement& statement) {
    const bool gives = statement.has_value && statement.value.kind != ExpressionKind::none;
    if (inlined_return_) {
        const InlinedReturn destination = *inlined_return_;
        const ValueId value =
            gives ? expression(statement.value) : constant({.kind = GlobalKind::none}, statement.location);
        store(destination.result, value, statement.location);
        return jump(destination.after, statement.location);
    }
    std::vector<ValueId> value;
    if (gives) value.push_back(expression(statement.value));
    append({.opcode = Opcode::return_, .location = statement.location, .operands = std::move(value)});
}

}  // namespace cudasim::pykernel
