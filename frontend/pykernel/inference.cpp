// Types to a fixpoint: each round types every instruction from its operands; phis widen until nothing
// changes. Numbers only widen (promotion.h), so it ends.
#include <algorithm>
#include <array>

#include "frontend/pykernel/callables.h"
#include "frontend/pykernel/program.h"
#include "frontend/pykernel/subscripts.h"

namespace cudasim::pykernel {
namespace {

class Inference {
  public:
    Inference(Program& program, Specialisation& specialisation)
        : program_(program),
          types_(program.types),
          specialisation_(specialisation),
          graph_(specialisation.graph) {}

    void run() {
        for (int round = 0; step(); ++round) {
            if (round > 1000)
                refuse_typing("types do not settle in this function", graph_.source->syntax.location);
        }
        drop_unreachable();
        check_all_typed();
        graph_.return_type = return_type();
    }

  private:
    bool step() {
        bool changed = false;
        find_reachable();
        for (BlockId id : graph_.order) {
            if (!reachable_[id]) continue;
            for (const Phi& phi : graph_.blocks[id].phis)
                changed |= update(graph_.versions[phi.version].type, join(id, phi));
            for (ValueId value : graph_.blocks[id].instructions) changed |= step(graph_.instructions[value]);
        }
        return changed;
    }

    bool step(Instruction& instruction) {
        for (ValueId operand : instruction.operands) {
            if (!type(operand)) return false;
        }
        const TypeRef result = infer(instruction);
        if (!result) return false;
        if (instruction.opcode == Opcode::store) update(graph_.versions[instruction.version].type, result);
        return update(instruction.type, result);
    }

    /// `if x is None` is decided by the type of x: the other side is neither typed nor compiled.
    void find_reachable() {
        reachable_.assign(graph_.blocks.size(), 0);
        reachable_[0] = 1;
        for (bool grows = true; grows;) {
            grows = false;
            for (BlockId id : graph_.order) {
                if (!reachable_[id]) continue;
                for (BlockId target : feasible_targets(id)) {
                    if (target == nothing || reachable_[target]) continue;
                    reachable_[target] = 1;
                    grows = true;
                }
            }
        }
    }

    std::array<BlockId, 2> feasible_targets(BlockId block) const {
        const Instruction& last = graph_.instructions[graph_.blocks[block].instructions.back()];
        if (last.opcode != Opcode::branch) return {last.targets[0], last.targets[1]};
        const Instruction& condition = graph_.instructions[last.operands[0]];
        const bool by_type = condition.opcode == Opcode::binary &&
                             (condition.op == Operator::is || condition.op == Operator::is_not);
        if (!by_type) return {last.targets[0], last.targets[1]};
        if (!condition.type) return {nothing, nothing};  // not known yet
        return {last.targets[*condition.type->literal ? 0 : 1], nothing};
    }

    bool feasible(BlockId from, BlockId to) const {
        const auto targets = feasible_targets(from);
        return reachable_[from] && (targets[0] == to || targets[1] == to);
    }

    /// Leaves only what can be reached, for everything after inference.
    void drop_unreachable() {
        for (BlockId id : graph_.order) {
            Instruction& last = graph_.instructions[graph_.blocks[id].instructions.back()];
            const auto targets = feasible_targets(id);
            if (last.opcode == Opcode::branch && targets[1] == nothing) {
                last.opcode = Opcode::jump;
                last.operands.clear();
                last.targets[0] = targets[0], last.targets[1] = nothing;
            }
            for (Phi& phi : graph_.blocks[id].phis) {
                std::erase_if(phi.incoming,
                              [&](const auto& incoming) { return !feasible(incoming.first, id); });
            }
        }
        std::erase_if(graph_.order, [&](BlockId id) { return !reachable_[id]; });
    }

    static bool update(TypeRef& place, TypeRef type) {
        if (!type || place == type) return false;
        place = type;
        return true;
    }

    TypeRef join(BlockId joined, const Phi& phi) {
        TypeRef result = nullptr;
        for (const auto& [block, version] : phi.incoming) {
            const TypeRef type = version == nothing ? nullptr : graph_.versions[version].type;
            if (!type || !feasible(block, joined)) continue;
            const TypeRef unified = result ? program_.promotion.unify(result, type) : type;
            if (!unified) cannot_unify(phi, result, type);
            result = unified;
        }
        return result;
    }

    [[noreturn]] void cannot_unify(const Phi& phi, TypeRef a, TypeRef b) {
        const Version& version = graph_.versions[phi.version];
        const Variable& variable = graph_.variables[version.variable];
        refuse_typing("Cannot unify " + types_.without_literal(a)->name + " and " +
                          types_.without_literal(b)->name +
                          (variable.compiler_made ? std::string(" for this expression")
                                                  : " for variable '" + variable.name + "'") +
                          ": it has one of these types on one path and the other on another",
                      version.location);
    }

    TypeRef type(ValueId id) const { return graph_.instructions[id].type; }

    TypeRef infer(const Instruction& in) {
        auto operand = [&](std::size_t i) { return type(in.operands[i]); };
        switch (in.opcode) {
            case Opcode::constant:
                return program_.type_of(*in.global, in.location);
            case Opcode::argument:
                return specialisation_.arguments[in.index];
            case Opcode::load:
                return graph_.versions[in.version].type;
            case Opcode::store:
                return operand(0);
            case Opcode::unary:
                return unary(in, operand(0));
            case Opcode::binary:
                return binary(in, operand(0), operand(1));
            case Opcode::get_attribute:
                return attribute_type(types_, operand(0), in.text, in.location);
            case Opcode::get_item:
                return item_type(types_, operand(0), operand(1), in.location);
            case Opcode::set_item:
                return check_set_item(in, operand(0), operand(1), operand(2));
            case Opcode::call:
                return call(in);
            case Opcode::build_tuple:
                return build_tuple(in);
            case Opcode::build_slice:
                return build_slice(in);
            case Opcode::unpack:
                return unpack(in, operand(0));
            case Opcode::iterate:
                return iterate(in, operand(0));
            case Opcode::advance:
                return types_.boolean;
            case Opcode::element:
                return element_type(types_, operand(0));
            case Opcode::branch:
                check_condition(in, operand(0));
                return types_.none;
            case Opcode::return_:
                return in.operands.empty() ? types_.none : operand(0);
            case Opcode::jump:
            case Opcode::raise:
                return types_.none;
        }
        return nullptr;
    }

    void check_condition(const Instruction& in, TypeRef type) {
        if (type->is_number() || type->is(TypeKind::none) || type->is(TypeKind::tuple)) return;
        refuse_typing("a value of type " + type->name + " cannot be a condition", in.location);
    }

    TypeRef unary(const Instruction& in, TypeRef operand) {
        if (in.op == Operator::logical_not) {
            check_condition(in, operand);
            return types_.boolean;
        }
        const Signature* signature = program_.promotion.unary(in.op, operand);
        if (!signature) {
            refuse_typing(
                std::string("No implementation of the operator ") + spelling(in.op) + " for " + operand->name,
                in.location);
        }
        return signature->result;
    }

    TypeRef binary(const Instruction& in, TypeRef left, TypeRef right) {
        if (in.op == Operator::is || in.op == Operator::is_not) {
            const bool same = left->is(TypeKind::none) && right->is(TypeKind::none);
            if (left->is(TypeKind::none) || right->is(TypeKind::none)) {
                return types_.literal(types_.boolean, same == (in.op == Operator::is));
            }
        }
        if (left->is(TypeKind::tuple) && right->is(TypeKind::tuple)) {
            if (in.op == Operator::add) {
                std::vector<TypeRef> elements = left->elements;
                elements.insert(elements.end(), right->elements.begin(), right->elements.end());
                return types_.tuple(std::move(elements));
            }
            if (in.op == Operator::equal || in.op == Operator::not_equal) return types_.boolean;
        }
        if (const Signature* signature = program_.promotion.binary(in.op, left, right))
            return signature->result;
        refuse_typing(std::string("No implementation of the operator ") + spelling(in.op) + " for " +
                          types_.without_literal(left)->name + " and " + types_.without_literal(right)->name,
                      in.location);
    }

    TypeRef check_set_item(const Instruction& in, TypeRef container, TypeRef index, TypeRef value) {
        const TypeRef array = container->is(TypeKind::flat) ? container->element() : container;
        if (!array->is(TypeKind::array)) {
            refuse_typing("elements of " + container->name + " cannot be assigned to", in.location);
        }
        if (array->read_only) {
            refuse_typing("Cannot assign to an element of a constant array (" + container->name + ")",
                          in.location);
        }
        const TypeRef target = container->is(TypeKind::flat)
                                   ? item_type(types_, container, index, in.location)
                                   : indexed_array(types_, container, index, in.location);
        if (!can_assign(in, target, value)) {
            refuse_typing("Cannot convert " + value->name + " to " + array->element()->name +
                              ", the type of the array's elements",
                          in.location);
        }
        return types_.none;
    }

    /// One number goes everywhere, a tuple of numbers into a row. An array would need a copy in case the two
    /// overlap, memory that a kernel does not have.
    bool can_assign(const Instruction& in, TypeRef target, TypeRef value) {
        if (value->is_number()) return true;
        if (!target->is(TypeKind::array)) return false;
        if (value->is(TypeKind::array)) {
            throw SourceError(
                ErrorClass::runtime,
                "NRT required but not enabled: assigning an array (" + value->name +
                    ") to a part of another is not supported in kernels, by Numba's CUDA target "
                    "neither; write a loop over the elements",
                in.location);
        }
        return value->is(TypeKind::tuple) && target->dimensions == 1 &&
               std::ranges::all_of(value->elements, [](TypeRef element) { return element->is_number(); });
    }

    TypeRef build_tuple(const Instruction& in) {
        std::vector<TypeRef> elements;
        for (ValueId operand : in.operands) elements.push_back(type(operand));
        return types_.tuple(std::move(elements));
    }

    TypeRef build_slice(const Instruction& in) {
        std::vector<TypeRef> bounds;
        for (ValueId operand : in.operands) bounds.push_back(type(operand));
        return slice_type(types_, bounds, in.location);
    }

    TypeRef unpack(const Instruction& in, TypeRef tuple) {
        if (tuple->is(TypeKind::array) && tuple->dimensions > 0) return element_type(types_, tuple);
        if (!tuple->is(TypeKind::tuple))
            refuse_typing("a value of type " + tuple->name + " cannot be unpacked", in.location);
        if (tuple->elements.size() != in.count) {
            refuse_typing("Cannot unpack " + std::to_string(tuple->elements.size()) + " values into " +
                              std::to_string(in.count) + " names",
                          in.location);
        }
        return tuple->elements[in.index];
    }

    TypeRef iterate(const Instruction& in, TypeRef over) {
        return iterator_over(types_, over, &in, 0, in.location);
    }

    TypeRef call(const Instruction& in) {
        const TypeRef callee = type(in.operands[0]);
        if (callee->is(TypeKind::data_type)) return conversion_call(in, callee->element());
        if (callee->is(TypeKind::method)) return table_call(in, callee->name);
        if (callee->is(TypeKind::object)) {
            const GlobalValue& global = *callee->global;
            if (global.kind == GlobalKind::function)
                return function_call(in, static_cast<std::uint32_t>(global.integer));
            if (global.kind == GlobalKind::intrinsic) return table_call(in, global.text);
            if (global.kind == GlobalKind::exception) {
                refuse_unsupported("exceptions can only be raised in kernels, not made", in.location);
            }
        }
        refuse_typing("a value of type " + callee->name + " cannot be called", in.location);
    }

    TypeRef conversion_call(const Instruction& in, TypeRef target) {
        const bool one_number =
            in.operands.size() == 2 && in.keywords.empty() && type(in.operands[1])->is_number();
        if (!one_number || !target->is_number()) {
            refuse_typing(
                "No implementation of " + target->name + "() for these arguments: it converts one number",
                in.location);
        }
        return target;
    }

    TypeRef table_call(const Instruction& in, const std::string& name) {
        const Callable* callable = find_callable(name);
        if (!callable && name == "reversed")
            refuse_typing(
                "Untyped global name 'reversed': Cannot determine Numba type of <class 'type'>; write "
                "a[::-1]",
                in.location);
        if (!callable) refuse_unsupported(name + " is not supported in kernels", in.location);
        CallTyping typing{program_, *callable, in, {}};
        for (std::uint32_t operand : bind_call(*callable, in)) {
            const TypeRef argument = operand == nothing ? nullptr : type(in.operands[operand]);
            typing.arguments.push_back(operand == 0 ? argument->element()
                                                    : argument);  // 0: a method's own object
        }
        return callable->type(typing);
    }

    TypeRef function_call(const Instruction& in, std::uint32_t function) {
        const FunctionSource& callee = program_.request.functions[function];
        std::vector<TypeRef> arguments;
        for (std::uint32_t source : program_.bind(callee, in)) {
            const bool is_default = source >= Program::default_base;
            const TypeRef argument =
                is_default ? program_.type_of(callee.defaults[source - Program::default_base], in.location)
                           : type(in.operands[source]);
            arguments.push_back(types_.without_literal(argument));
        }
        try {
            return program_.specialise(function, arguments, in.location).result;
        } catch (SourceError& error) {
            const FunctionSource& caller = *graph_.source;
            if (!error.file.empty()) {
                error.callers.push_back("File \"" + caller.file + "\", line " +
                                        std::to_string(in.location.line) + ", in " + caller.syntax.name);
            }
            throw;
        }
    }

    void check_all_typed() {
        for (BlockId id : graph_.order) {
            for (ValueId value : graph_.blocks[id].instructions) {
                const Instruction& in = graph_.instructions[value];
                if (in.type) continue;
                const std::string name = in.variable == nothing
                                             ? "this value"
                                             : "variable '" + graph_.variables[in.variable].name + "'";
                refuse_typing(
                    "Cannot infer the type of " + name + ": it is used before any value is assigned to it",
                    in.location);
            }
        }
    }

    TypeRef return_type() {
        TypeRef result = nullptr;
        for (BlockId id : graph_.order) {
            const Instruction& last = graph_.instructions[graph_.blocks[id].instructions.back()];
            if (last.opcode != Opcode::return_) continue;
            const TypeRef type = types_.without_literal(last.type);
            const TypeRef unified = result ? program_.promotion.unify(result, type) : type;
            if (!unified) {
                const bool optional = result->is(TypeKind::none) || type->is(TypeKind::none);
                const std::string reason =
                    "Cannot unify " + result->name + " and " + type->name + " for the return value";
                if (optional)
                    refuse_unsupported(
                        reason + ": returning nothing on some paths is not supported in kernels yet",
                        last.location);
                refuse_typing(reason, last.location);
            }
            result = unified;
        }
        return result ? result : types_.none;
    }

    Program& program_;
    TypeTable& types_;
    Specialisation& specialisation_;
    FlowGraph& graph_;
    std::vector<char> reachable_;  ///< by block
};

}  // namespace

void infer_types(Program& program, Specialisation& specialisation) {
    Inference(program, specialisation).run();
}

}  // namespace cudasim::pykernel
