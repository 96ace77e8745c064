// Expressions → instructions. Whatever branches (`and`, `or`, chained comparisons, conditional
// expressions) becomes blocks here, so that everything after sees straight lines only.
#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {

std::string dotted_name(const Expression& syntax) {
    constexpr int longest = 100;  // names; no global has as many, and longer chains would take quadratic time
    const Expression* root = &syntax;
    for (int names = 1; root->kind == ExpressionKind::attribute; ++names) {
        if (names == longest) return {};
        root = &root->operands.front();
    }
    if (root->kind != ExpressionKind::name) return {};
    if (root == &syntax) return syntax.text;
    return dotted_name(syntax.operands[0]) + "." + syntax.text;
}

[[noreturn]] static void refuse_global(const GlobalValue& value, const std::string& name, Location location) {
    refuse_typing("Untyped global name '" + name + "': " + value.text, location,
                  value.integer ? Standing::not_yet : Standing::not_gpu_code);
}

/// Meaning of a dotted name whose root is not a local variable; null when there is none.
const GlobalValue* FlowGraphBuilder::outer(const Expression& syntax) const {
    const std::string name = dotted_name(syntax);
    const std::string root = name.substr(0, name.find('.'));
    if (name.empty() || locals_.contains(root) || functions_->contains(root)) return nullptr;
    if (source_.outer_locals.contains(root)) return nullptr;
    const auto found = source_.globals.find(name);
    return found != source_.globals.end() ? &found->second : nullptr;
}

ValueId FlowGraphBuilder::constant(GlobalValue value, Location location) {
    constants_.push_back(std::make_unique<GlobalValue>(std::move(value)));
    return append({.opcode = Opcode::constant, .location = location, .global = constants_.back().get()});
}

ValueId FlowGraphBuilder::operation(Opcode opcode, Location location, std::vector<ValueId> operands,
                                    Operator op) {
    return append({.opcode = opcode, .location = location, .op = op, .operands = std::move(operands)});
}

ValueId FlowGraphBuilder::expression(const Expression& syntax) {
    if (auto folded = fold_literals(syntax)) return constant(std::move(*folded), syntax.location);
    const Location place = syntax.location;
    switch (syntax.kind) {
        case ExpressionKind::integer:
        case ExpressionKind::real:
        case ExpressionKind::imaginary:
            break;  // folded above
        case ExpressionKind::name:
            return name(syntax);
        case ExpressionKind::boolean:
            return constant({.kind = GlobalKind::boolean, .integer = syntax.integer}, place);
        case ExpressionKind::none:
            return constant({.kind = GlobalKind::none}, place);
        case ExpressionKind::bytes:
            return constant({.kind = GlobalKind::bytes, .bytes = syntax.text}, place);
        case ExpressionKind::text:
            return constant({.kind = GlobalKind::text, .text = syntax.text}, place);
        case ExpressionKind::attribute:
            return attribute(syntax);
        case ExpressionKind::subscript: {
            if (const GlobalValue* member = enumeration_member(syntax))
                return append({.opcode = Opcode::constant, .location = place, .global = member});
            const ValueId container = expression(syntax.operands[0]);
            const ValueId index = expression(syntax.operands[1]);
            return operation(Opcode::get_item, place, {container, index});
        }
        case ExpressionKind::call:
            return call(syntax);
        case ExpressionKind::unary: {
            const ValueId operand = expression(syntax.operands[0]);
            return operation(Opcode::unary, place, {operand}, syntax.operators[0]);
        }
        case ExpressionKind::binary: {
            if (const auto repeated = fold_repeated_tuple(syntax)) return expression(*repeated);
            const ValueId left = expression(syntax.operands[0]);
            const ValueId right = expression(syntax.operands[1]);
            return operation(Opcode::binary, place, {left, right}, syntax.operators[0]);
        }
        case ExpressionKind::compare:
            return compare(syntax);
        case ExpressionKind::logical_and:
        case ExpressionKind::logical_or:
            return short_circuit(syntax);
        case ExpressionKind::conditional:
            return conditional(syntax);
        case ExpressionKind::tuple: {
            std::vector<ValueId> elements;
            for (const Expression& element : syntax.operands) elements.push_back(expression(element));
            return operation(Opcode::build_tuple, place, std::move(elements));
        }
        case ExpressionKind::slice: {
            std::vector<ValueId> bounds;
            for (const Expression& bound : syntax.operands) {
                const bool missing = bound.location.line == 0;
                if (missing && bounds.size() == 2) break;  // a[i:j] has no step, a[i:j:None] has one
                bounds.push_back(missing ? constant({.kind = GlobalKind::none}, place) : expression(bound));
            }
            return operation(Opcode::build_slice, place, std::move(bounds));
        }
        case ExpressionKind::named: {
            const ValueId value = expression(syntax.operands[0]);
            if (outer_names_.contains(syntax.text))
                assign({.kind = ExpressionKind::name, .location = place, .text = syntax.text}, value,
                       nullptr);
            else
                store(locals_.at(syntax.text), value, place);
            return value;
        }
        case ExpressionKind::lambda:
            return function_value(*syntax.function, place);
        case ExpressionKind::starred:
            return operation(Opcode::spread, place, {expression(syntax.operands[0])});
        case ExpressionKind::ellipsis:
            return constant({.kind = GlobalKind::ellipsis}, place);
        case ExpressionKind::unsupported:
            refuse_construct(syntax.text, place);
    }
    refuse_unsupported("this expression is not supported in kernels", place);
}

/// Colour['RED'].
const GlobalValue* FlowGraphBuilder::enumeration_member(const Expression& syntax) const {
    const GlobalValue* enumeration = outer(syntax.operands[0]);
    const Expression& index = syntax.operands[1];
    if (!enumeration || enumeration->kind != GlobalKind::enumeration || index.kind != ExpressionKind::text)
        return nullptr;
    for (std::size_t i = 0; i < enumeration->names.size(); ++i) {
        if (enumeration->names[i] == index.text) return &enumeration->elements[i];
    }
    refuse_typing("the enumeration " + enumeration->text + " has no member '" + index.text + "'",
                  index.location);
}

ValueId FlowGraphBuilder::name(const Expression& syntax) {
    if (const auto local = locals_.find(syntax.text); local != locals_.end()) {
        return read(local->second, syntax.location);
    }
    if (const auto function = find_local_function(syntax))
        return function_value(*function->syntax, syntax.location);
    const GlobalValue* value = outer(syntax);
    if (source_.outer_locals.contains(syntax.text)) {
        refuse_typing("Cannot capture the value of '" + syntax.text +
                          "', a variable of the function around '" + source_.syntax.name +
                          "', in a function that is passed on: pass it as an argument",
                      syntax.location);
    }
    if (!value || value->kind == GlobalKind::undefined) {
        refuse_typing("NameError: name '" + syntax.text +
                          "' is not defined: it is neither a variable of this "
                          "function nor a global",
                      syntax.location, Standing::never);
    }
    if (value->kind == GlobalKind::unsupported) {
        refuse_global(*value, syntax.text, syntax.location);
    }
    return append(
        {.opcode = Opcode::constant, .location = syntax.location, .text = syntax.text, .global = value});
}

ValueId FlowGraphBuilder::attribute(const Expression& syntax) {
    if (const GlobalValue* value = outer(syntax)) {
        const std::string shown = dotted_name(syntax);
        if (value->kind == GlobalKind::undefined) {
            refuse_typing("Unknown attribute '" + syntax.text + "' of " + dotted_name(syntax.operands[0]),
                          syntax.location, Standing::never);
        }
        if (value->kind == GlobalKind::unsupported) {
            refuse_global(*value, shown, syntax.location);
        }
        return append(
            {.opcode = Opcode::constant, .location = syntax.location, .text = shown, .global = value});
    }
    const ValueId object = expression(syntax.operands[0]);
    return append({.opcode = Opcode::get_attribute,
                   .location = syntax.location,
                   .operands = {object},
                   .text = syntax.text});
}

ValueId FlowGraphBuilder::call(const Expression& syntax) {
    if (const auto function = find_local_function(syntax.operands[0])) return inline_call(*function, syntax);
    std::vector<ValueId> operands;
    for (const Expression& operand : syntax.operands) operands.push_back(expression(operand));
    const auto message = exception_message(syntax);  // should the callee turn out to be an exception's class
    return append({.opcode = Opcode::call,
                   .location = syntax.location,
                   .operands = std::move(operands),
                   .keywords = syntax.keywords,
                   .message = message.value_or(""),
                   .has_message = message.has_value()});
}

namespace {

/// One of the comparisons of `a < b < c`.
Expression link_of(const Expression& chain, std::size_t index) {
    Expression link = chain;
    link.operands = {chain.operands[index], chain.operands[index + 1]};
    link.operators = {chain.operators[index]};
    return link;
}

}  // namespace

ValueId FlowGraphBuilder::compare(const Expression& syntax) {
    const Location place = syntax.location;
    ValueId left = expression(syntax.operands[0]);
    if (syntax.operators.size() == 1) {
        const ValueId right = expression(syntax.operands[1]);
        return operation(Opcode::binary, place, {left, right}, syntax.operators[0]);
    }
    const VariableId result = variable("", place, true);
    const BlockId join = new_block();
    for (std::size_t i = 0; i < syntax.operators.size(); ++i) {
        const ValueId right = expression(syntax.operands[i + 1]);
        const ValueId outcome = operation(Opcode::binary, place, {left, right}, syntax.operators[i]);
        store(result, outcome, place);
        left = right;
        if (i + 1 == syntax.operators.size()) break;
        if (const auto known = constant_truth(link_of(syntax, i))) {
            if (*known) continue;
            break;
        }
        const BlockId next = new_block();
        append({.opcode = Opcode::branch, .location = place, .operands = {outcome}, .targets = {next, join}});
        enter(next);
    }
    jump(join, place);
    enter(join);
    return load(result, place);
}

ValueId FlowGraphBuilder::short_circuit(const Expression& syntax) {
    const Location place = syntax.location;
    const VariableId result = variable("", place, true);
    const BlockId join = new_block();
    for (std::size_t i = 0; i < syntax.operands.size(); ++i) {
        const bool is_and = syntax.kind == ExpressionKind::logical_and;
        const bool last = i + 1 == syntax.operands.size();
        // `0 or x` is x, and `1 or x` is 1, with their types.
        const auto known = last ? std::nullopt : constant_truth(syntax.operands[i]);
        if (known && *known == is_and) continue;
        const ValueId value = expression(syntax.operands[i]);
        store(result, value, place);
        if (last || known) break;
        const BlockId next = new_block();
        append({.opcode = Opcode::branch,
                .location = syntax.operands[i].location,
                .operands = {value},
                .targets = {is_and ? next : join, is_and ? join : next}});
        enter(next);
    }
    jump(join, place);
    enter(join);
    return load(result, place);
}

ValueId FlowGraphBuilder::conditional(const Expression& syntax) {
    if (const auto known = constant_truth(syntax.operands[0]))
        return expression(syntax.operands[*known ? 1 : 2]);
    const VariableId result = variable("", syntax.location, true);
    const BlockId if_true = new_block(), if_false = new_block(), join = new_block();
    condition(syntax.operands[0], if_true, if_false);
    for (int side = 1; side <= 2; ++side) {
        enter(side == 1 ? if_true : if_false);
        const Expression& value = syntax.operands[side];
        store(result, expression(value), value.location);
        jump(join, value.location);
    }
    enter(join);
    return load(result, syntax.location);
}

void FlowGraphBuilder::condition(const Expression& syntax, BlockId if_true, BlockId if_false) {
    if (const auto known = constant_truth(syntax)) return jump(*known ? if_true : if_false, syntax.location);
    if (syntax.kind == ExpressionKind::unary && syntax.operators[0] == Operator::logical_not) {
        return condition(syntax.operands[0], if_false, if_true);
    }
    if (syntax.kind == ExpressionKind::logical_and || syntax.kind == ExpressionKind::logical_or) {
        const bool is_and = syntax.kind == ExpressionKind::logical_and;
        for (std::size_t i = 0; i + 1 < syntax.operands.size(); ++i) {
            const BlockId next = new_block();
            condition(syntax.operands[i], is_and ? next : if_true, is_and ? if_false : next);
            enter(next);
        }
        return condition(syntax.operands.back(), if_true, if_false);
    }
    if (syntax.kind == ExpressionKind::conditional) {  // each side branches by itself, as in CPython's code
        const BlockId sides[] = {new_block(), new_block()};
        condition(syntax.operands[0], sides[0], sides[1]);
        for (int side = 0; side < 2; ++side) {
            enter(sides[side]);
            condition(syntax.operands[side + 1], if_true, if_false);
        }
        return;
    }
    if (syntax.kind == ExpressionKind::compare && syntax.operators.size() > 1)
        return chained_condition(syntax, if_true, if_false);
    const ValueId value = expression(syntax);
    append({.opcode = Opcode::branch,
            .location = syntax.location,
            .operands = {value},
            .targets = {if_true, if_false}});
}

/// Each comparison branches by itself, as in CPython's code, so that a constant one decides alone.
void FlowGraphBuilder::chained_condition(const Expression& syntax, BlockId if_true, BlockId if_false) {
    const std::size_t links = syntax.operators.size();
    ValueId left = expression(syntax.operands[0]);
    for (std::size_t i = 0; i < links; ++i) {
        const ValueId right = expression(syntax.operands[i + 1]);
        const auto known = constant_truth(link_of(syntax, i));
        if (known && !*known) return jump(if_false, syntax.location);
        const BlockId next = i + 1 == links ? if_true : new_block();
        if (known) {
            jump(next, syntax.location);
        } else {
            const ValueId outcome =
                operation(Opcode::binary, syntax.location, {left, right}, syntax.operators[i]);
            append({.opcode = Opcode::branch,
                    .location = syntax.location,
                    .operands = {outcome},
                    .targets = {next, if_false}});
        }
        left = right;
        if (next != if_true) enter(next);
    }
}

}  // namespace cudasim::pykernel
