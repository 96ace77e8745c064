// Statements → blocks. See flow_graph_builder.h.
#include <algorithm>

#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {

FlowGraph build_flow_graph(const FunctionSource& source, std::vector<std::unique_ptr<GlobalValue>>& constants,
                           const UnrolledSizes& sizes, const InnerFunctions& inner_functions,
                           const image::Cancellation* cancellation) {
    return FlowGraphBuilder(source, constants, sizes, inner_functions, cancellation).build();
}

FlowGraphBuilder::FlowGraphBuilder(const FunctionSource& source,
                                   std::vector<std::unique_ptr<GlobalValue>>& constants,
                                   const UnrolledSizes& sizes, const InnerFunctions& inner_functions,
                                   const image::Cancellation* cancellation)
    : source_(source),
      constants_(constants),
      sizes_(sizes),
      inner_functions_(inner_functions),
      cancellation_(cancellation) {
    graph_.source = &source;
}

FlowGraph FlowGraphBuilder::build() {
    enter(new_block());
    declare_parameters();
    declare_locals(source_.syntax.body);
    const BlockId first = new_block();
    jump(first, source_.syntax.location);
    enter(first);
    body(source_.syntax.body);
    const auto& statements = source_.syntax.body;
    append({.opcode = Opcode::return_,
            .location = statements.empty() ? source_.syntax.location : statements.back().location});
    return std::move(graph_);
}

BlockId FlowGraphBuilder::new_block() {
    graph_.blocks.emplace_back();
    return static_cast<BlockId>(graph_.blocks.size() - 1);
}

ValueId FlowGraphBuilder::append(Instruction instruction) {
    if (graph_.blocks[current_].terminated) enter(new_block());  // after return or break: never reached
    const bool ends = instruction.opcode == Opcode::jump || instruction.opcode == Opcode::branch ||
                      instruction.opcode == Opcode::return_ || instruction.opcode == Opcode::raise ||
                      instruction.opcode == Opcode::unroll;
    const auto id = static_cast<ValueId>(graph_.instructions.size());
    if (id % 1024 == 0) check_size(instruction.location);
    instruction.id = id;
    graph_.instructions.push_back(std::move(instruction));
    graph_.blocks[current_].instructions.push_back(id);
    graph_.blocks[current_].terminated = ends;
    return id;
}

void FlowGraphBuilder::check_size(Location location) const {
    if (cancellation_) cancellation_->check();
    if (graph_.instructions.size() < most_instructions) return;
    refuse_unsupported(
        "'" + source_.syntax.name + "' has more than " + std::to_string(most_instructions) +
            " operations, with the functions inlined and the loops unrolled that it contains: compiling it "
            "would take too long. Split it into several kernels or device functions, or use loops",
        location, Standing::not_gpu_code);
}

void FlowGraphBuilder::jump(BlockId target, Location location) {
    append({.opcode = Opcode::jump, .location = location, .targets = {target, nothing}});
}

VariableId FlowGraphBuilder::variable(const std::string& name, Location location, bool compiler_made) {
    const auto id = static_cast<VariableId>(graph_.variables.size());
    graph_.variables.push_back({.name = compiler_made ? "$" + std::to_string(id) : name,
                                .declared = location,
                                .compiler_made = compiler_made});
    return id;
}

void FlowGraphBuilder::store(VariableId variable, ValueId value, Location location) {
    append({.opcode = Opcode::store, .location = location, .operands = {value}, .variable = variable});
}

ValueId FlowGraphBuilder::load(VariableId variable, Location location) {
    return append({.opcode = Opcode::load, .location = location, .variable = variable});
}

ValueId FlowGraphBuilder::read(VariableId variable, Location location) {
    return append({.opcode = Opcode::load,
                   .location = location,
                   .variable = variable,
                   .captured = variable < first_own_});
}

void FlowGraphBuilder::declare_parameters() {
    std::uint32_t index = 0;
    for (const ParameterSyntax& parameter : source_.syntax.parameters) {
        const VariableId id = variable(parameter.name, parameter.location);
        graph_.variables[id].is_parameter = true;
        locals_[parameter.name] = id;
        const ValueId value =
            append({.opcode = Opcode::argument, .location = parameter.location, .index = index++});
        store(id, value, parameter.location);
    }
}

void FlowGraphBuilder::declare(const Expression& name) {
    if (!locals_.contains(name.text) && !outer_names_.contains(name.text) &&
        !nonlocals_.contains(name.text)) {
        locals_[name.text] = variable(name.text, name.location);
    }
}

void FlowGraphBuilder::declare_target(const Expression& target) {
    if (target.kind == ExpressionKind::name) declare(target);
    if (target.kind == ExpressionKind::tuple || target.kind == ExpressionKind::starred) {
        for (const Expression& element : target.operands) declare_target(element);
    }
}

/// `name := value` anywhere in an expression.
void FlowGraphBuilder::declare_named(const Expression& expression) {
    if (expression.kind == ExpressionKind::named) declare(expression);
    for (const Expression& operand : expression.operands) declare_named(operand);
}

/// A name that is assigned anywhere in the function is local everywhere in it (Python's rule).
void FlowGraphBuilder::declare_locals(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
        if (statement.kind == StatementKind::global_) {
            for (const Expression& name : statement.targets) {
                if (!nonlocals_.contains(name.text)) outer_names_.insert(name.text);
            }
            continue;
        }
        const bool assigns = statement.kind == StatementKind::assign ||
                             statement.kind == StatementKind::for_ ||
                             statement.kind == StatementKind::augmented_assign;
        if (assigns) {
            for (const Expression& target : statement.targets) declare_target(target);
        }
        declare_named(statement.value);
        for (const Expression& target : statement.targets) declare_named(target);
        declare_locals(statement.body);
        declare_locals(statement.otherwise);
    }
}

void FlowGraphBuilder::body(const std::vector<Statement>& statements) {
    for (const Statement& each : statements) statement(each);
}

void FlowGraphBuilder::statement(const Statement& statement) {
    const Location place = statement.location;
    switch (statement.kind) {
        case StatementKind::pass:
        case StatementKind::global_:
            return;
        case StatementKind::delete_:
            return delete_statement(statement);
        case StatementKind::expression: {
            const ExpressionKind kind = statement.value.kind;
            if (kind == ExpressionKind::text || kind == ExpressionKind::ellipsis) return;  // docstring
            expression(statement.value);
            return;
        }
        case StatementKind::assign:
            return assign_statement(statement);
        case StatementKind::augmented_assign:
            return augmented_assign(statement);
        case StatementKind::if_:
            return if_statement(statement);
        case StatementKind::while_:
            return while_statement(statement);
        case StatementKind::for_:
            return for_statement(statement);
        case StatementKind::break_:
            return jump(loops_.back().after, place);
        case StatementKind::continue_:
            return jump(loops_.back().next, place);
        case StatementKind::return_:
            return return_statement(statement);
        case StatementKind::function:
            return define(statement.function->name, *statement.function);
        case StatementKind::raise_:
            return raise_statement(statement);
        case StatementKind::assert_:
            return assert_statement(statement);
        case StatementKind::unsupported:
            refuse_construct(statement.text, place);
    }
}

void FlowGraphBuilder::delete_statement(const Statement& statement) {
    for (const Expression& target : statement.targets) {
        const bool name = target.kind == ExpressionKind::name;
        throw SourceError(
            name ? ErrorClass::compiler : ErrorClass::typing,
            std::string(name ? "Illegal IR, del found: " : "") +
                "`del` is not supported in kernels: a variable ends with its function, and elements of "
                "arrays cannot be removed",
            statement.location);
    }
}

void FlowGraphBuilder::assign_statement(const Statement& statement) {
    const Expression& value = statement.value;
    const bool named = statement.targets.size() == 1 && statement.targets[0].kind == ExpressionKind::name;
    if (value.kind == ExpressionKind::lambda && named)
        return define(statement.targets[0].text, *value.function);
    const ValueId result = expression(value);
    // The array made by `tile = cuda.shared.array(...)` is called tile in reports.
    Instruction& last = graph_.instructions[result];
    if (last.opcode == Opcode::call && statement.targets[0].kind == ExpressionKind::name) {
        last.text = statement.targets[0].text;
    }
    for (const Expression& target : statement.targets) assign(target, result, &value);
}

void FlowGraphBuilder::assign(const Expression& target, ValueId value, const Expression* syntax) {
    switch (target.kind) {
        case ExpressionKind::name:
            if (outer_names_.contains(target.text)) {
                throw SourceError(
                    ErrorClass::unsupported_bytecode,
                    "'" + target.text +
                        "' is declared global or nonlocal: kernels can read such names, not assign them",
                    target.location);
            }
            return store(locals_.at(target.text), value, target.location);
        case ExpressionKind::starred:
            throw SourceError(ErrorClass::unsupported_bytecode,
                              "`*` in an assignment target is not supported in kernels", target.location);
        case ExpressionKind::subscript: {
            const ValueId container = expression(target.operands[0]);
            const ValueId index = expression(target.operands[1]);
            operation(Opcode::set_item, target.location, {container, index, value});
            return;
        }
        case ExpressionKind::tuple: {
            for (const Expression& element : target.operands) {
                if (element.kind == ExpressionKind::starred) return assign(element, value, nullptr);
            }
            const auto count = static_cast<std::uint32_t>(target.operands.size());
            std::vector<ValueId> elements;
            for (std::uint32_t i = 0; i < count; ++i) {
                elements.push_back(append({.opcode = Opcode::unpack,
                                           .location = target.location,
                                           .operands = {value},
                                           .index = i,
                                           .count = count}));
            }
            for (std::uint32_t i = 0; i < count; ++i) assign(target.operands[i], elements[i], nullptr);
            return;
        }
        case ExpressionKind::attribute:
            append({.opcode = Opcode::set_attribute,
                    .location = target.location,
                    .operands = {expression(target.operands[0]), value},
                    .text = target.text});
            return;
        default:
            refuse_unsupported("this assignment target is not supported in kernels", target.location);
    }
}

ValueId FlowGraphBuilder::in_place(const Statement& statement, ValueId old, ValueId change) {
    const ValueId result = operation(Opcode::binary, statement.location, {old, change}, statement.op);
    graph_.instructions[result].text = "in place";
    return result;
}

void FlowGraphBuilder::augmented_assign(const Statement& statement) {
    const Expression& target = statement.targets[0];
    if (target.kind == ExpressionKind::subscript) {
        const ValueId container = expression(target.operands[0]);
        const ValueId index = expression(target.operands[1]);
        const ValueId old = operation(Opcode::get_item, target.location, {container, index});
        const ValueId change = expression(statement.value);
        const ValueId result = in_place(statement, old, change);
        operation(Opcode::set_item, target.location, {container, index, result});
        return;
    }
    if (target.kind == ExpressionKind::attribute) {
        const ValueId object = expression(target.operands[0]);
        const ValueId old = append({.opcode = Opcode::get_attribute,
                                    .location = target.location,
                                    .operands = {object},
                                    .text = target.text});
        const ValueId change = expression(statement.value);
        const ValueId result = in_place(statement, old, change);
        append({.opcode = Opcode::set_attribute,
                .location = target.location,
                .operands = {object, result},
                .text = target.text});
        return;
    }
    const ValueId old = expression(target);
    const ValueId change = expression(statement.value);
    assign(target, in_place(statement, old, change), nullptr);
}

void FlowGraphBuilder::if_statement(const Statement& statement) {
    if (const auto known = constant_truth(statement.value)) {
        return body(*known ? statement.body : statement.otherwise);
    }
    const BlockId if_true = new_block(), join = new_block();
    const BlockId if_false = statement.otherwise.empty() ? join : new_block();
    condition(statement.value, if_true, if_false);
    // A branch ends where its last statement is, so that stepping does not go back to the `if`.
    LocalFunctions before = *functions_;
    enter(if_true);
    body(statement.body);
    jump(join, statement.body.back().location);
    std::swap(before, *functions_);
    if (if_false != join) {
        enter(if_false);
        body(statement.otherwise);
        jump(join, statement.otherwise.back().location);
    }
    join_functions(before);
    enter(join);
}

void FlowGraphBuilder::while_statement(const Statement& statement) {
    const BlockId head = new_block(), inside = new_block(), otherwise = new_block(), after = new_block();
    jump(head, statement.location);
    enter(head);
    condition(statement.value, inside, otherwise);
    loops_.push_back({head, after});
    enter(inside);
    body(statement.body);
    jump(head, statement.location);
    loops_.pop_back();
    enter(otherwise);
    body(statement.otherwise);
    jump(after, statement.location);
    enter(after);
}

bool FlowGraphBuilder::is_unrolled(const Expression& over) const {
    if (over.kind != ExpressionKind::call || over.operands.size() != 2 || !over.keywords.empty())
        return false;
    const GlobalValue* callee = outer(over.operands[0]);
    return callee && callee->kind == GlobalKind::intrinsic && callee->text == "cuda.literal_unroll";
}

/// One copy of the body for each element, so that each may have a type of its own. How many elements there
/// are is known once the tuple has a type; then the graph is built again.
void FlowGraphBuilder::unrolled_for_statement(const Statement& statement) {
    const Location place = statement.value.location;
    const ValueId over = expression(statement.value.operands[1]);
    UnrolledLoop loop = copies_;
    loop.push_back(reinterpret_cast<std::uintptr_t>(&statement));
    const auto size = sizes_.find(loop);
    if (size == sizes_.end()) {
        append({.opcode = Opcode::unroll,
                .location = place,
                .operands = {over},
                .index = static_cast<std::uint32_t>(graph_.unrolled.size())});
        graph_.unrolled.push_back(std::move(loop));
        return;
    }
    const Expression& target = statement.targets[0];
    const auto count = static_cast<std::uint32_t>(size->second);
    const BlockId after = new_block();
    std::swap(copies_, loop);
    for (std::uint32_t i = 0; i < count; ++i) {
        const BlockId next = new_block();
        copies_.push_back(i);
        assign(target,
               append({.opcode = Opcode::unpack,
                       .location = target.location,
                       .operands = {over},
                       .index = i,
                       .count = count}),
               nullptr);
        loops_.push_back({next, after});
        body(statement.body);
        loops_.pop_back();
        jump(next, place);
        enter(next);
        copies_.pop_back();
    }
    std::swap(copies_, loop);
    body(statement.otherwise);
    jump(after, statement.location);
    enter(after);
}

void FlowGraphBuilder::for_statement(const Statement& statement) {
    if (is_unrolled(statement.value)) return unrolled_for_statement(statement);
    const Location place = statement.value.location;
    const ValueId over = expression(statement.value);
    const ValueId iterator = operation(Opcode::iterate, place, {over});
    const BlockId head = new_block(), inside = new_block(), otherwise = new_block(), after = new_block();
    jump(head, place);
    enter(head);
    const ValueId more = operation(Opcode::advance, place, {iterator});
    append({.opcode = Opcode::branch, .location = place, .operands = {more}, .targets = {inside, otherwise}});
    loops_.push_back({head, after});
    enter(inside);
    const Expression& target = statement.targets[0];
    assign(target, operation(Opcode::element, target.location, {iterator}), nullptr);
    body(statement.body);
    jump(head, place);
    loops_.pop_back();
    enter(otherwise);
    body(statement.otherwise);
    jump(after, statement.location);
    enter(after);
}

void FlowGraphBuilder::raise(const std::string& exception, const std::string& message, Location location) {
    append({.opcode = Opcode::raise, .location = location, .text = exception, .message = message});
}

void FlowGraphBuilder::raise_statement(const Statement& statement) {
    if (!statement.has_value)
        return raise("RuntimeError", "No active exception to reraise", statement.location);
    const Expression& value = statement.value;
    const bool is_call = value.kind == ExpressionKind::call;
    const GlobalValue* exception = outer(is_call ? value.operands[0] : value);
    if (exception && exception->kind == GlobalKind::undefined) {
        refuse_typing(
            "NameError: name '" + dotted_name(is_call ? value.operands[0] : value) + "' is not defined",
            value.location, Standing::never);
    }
    if (exception && exception->kind != GlobalKind::exception) {
        refuse_unsupported("only exception classes and calls of them can be raised in kernels",
                           value.location, Standing::not_gpu_code);
    }
    if (!exception) {
        append({.opcode = Opcode::raise, .location = statement.location, .operands = {expression(value)}});
        return;
    }
    const auto message = is_call ? exception_message(value) : std::optional<std::string>("");
    if (!message) {
        const auto computed =
            std::ranges::find_if(value.operands.begin() + 1, value.operands.end(),
                                 [&](const Expression& one) { return !constant_text(one, false); });
        refuse_unsupported("the arguments of an exception raised in a kernel must be constants",
                           computed == value.operands.end() ? value.location : computed->location,
                           Standing::not_gpu_code);
    }
    raise(exception->text, *message, statement.location);
}

void FlowGraphBuilder::assert_statement(const Statement& statement) {
    const auto message = statement.targets.empty() ? std::optional<std::string>("")
                                                   : constant_text(statement.targets[0], false);
    if (!message)
        refuse_unsupported("the arguments of an exception raised in a kernel must be constants",
                           statement.targets[0].location, Standing::not_gpu_code);
    const BlockId holds = new_block(), fails = new_block();
    condition(statement.value, holds, fails);
    enter(fails);
    raise("AssertionError", *message, statement.location);
    enter(holds);
}

}  // namespace cudasim::pykernel
