// Types to a fixpoint: each round types the instructions whose operands have got other types since they were
// typed last; phis widen until nothing changes. Numbers only widen (promotion.h), so it ends.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "frontend/pykernel/infer/added_operations.h"
#include "frontend/pykernel/infer/callable.h"
#include "frontend/pykernel/infer/named_attributes.h"
#include "frontend/pykernel/infer/operators.h"
#include "frontend/pykernel/infer/program.h"
#include "frontend/pykernel/infer/spread_calls.h"
#include "frontend/pykernel/infer/subscripts.h"

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
    }

    bool finish() {
        find_reachable();
        const bool typed = !untyped();
        if (typed) drop_unreachable();
        return typed;
    }

    /// An instruction that is reached and has no type; null when there is none.
    const Instruction* untyped() const {
        for (BlockId id : graph_.order) {
            if (!reachable_[id]) continue;
            for (ValueId value : graph_.blocks[id].instructions) {
                if (!graph_.instructions[value].type) return &graph_.instructions[value];
            }
        }
        return nullptr;
    }

  private:
    bool step() {
        bool changed = false;
        find_reachable();
        for (BlockId id : graph_.order) {
            if (!reachable_[id]) continue;
            for (const Phi& phi : graph_.blocks[id].phis)
                changed |= update(graph_.versions[phi.version].type, join(id, phi));
            expand_spread_arguments(program_, graph_, id);
            typed_.resize(graph_.instructions.size());
            for (ValueId value : graph_.blocks[id].instructions) {
                program_.request.check_cancelled();
                changed |= step_or_wait(graph_.instructions[value]);
            }
        }
        changed |= update(specialisation_.result, return_type());
        graph_.return_type = specialisation_.result;
        if (refused_ && !changed) throw SourceError(*std::exchange(refused_, std::nullopt));
        refused_.reset();
        return changed;
    }

    /// In a loop a variable may get its type later in this round: a refusal counts when nothing changes any
    /// more.
    bool step_or_wait(Instruction& instruction) {
        try {
            return step(instruction);
        } catch (const SourceError& error) {
            if (error.error_class != ErrorClass::typing) throw;
            if (!refused_) refused_ = error;
            return false;
        }
    }

    bool step(Instruction& instruction) {
        for (ValueId operand : instruction.operands) {
            if (!type(operand)) return false;
        }
        if (is_known(instruction)) return false;
        const std::size_t open_calls = program_.open_calls();
        name_attribute(program_, graph_, instruction);
        const TypeRef result = infer(instruction);
        if (!result) return false;
        const bool by_operands = instruction.opcode != Opcode::load && program_.open_calls() == open_calls;
        Typed& typed = typed_[instruction.id];
        typed.at = by_operands ? ++clock_ : never;
        if (result->is(TypeKind::tuple) && result->values > largest_tuple) {
            refuse_unsupported("tuples of more than " + std::to_string(largest_tuple) +
                                   " values are not supported in kernels",
                               instruction.location);
        }
        if (instruction.opcode == Opcode::store) update(graph_.versions[instruction.version].type, result);
        if (!update(instruction.type, result)) return false;
        typed.changed = clock_;
        return true;
    }

    /// Whether what the instruction means has been found from the types that its operands have now, and from
    /// nothing else.
    bool is_known(const Instruction& in) const {
        const std::uint32_t at = typed_[in.id].at;
        return at != never && std::ranges::all_of(
                                  in.operands, [&](ValueId operand) { return typed_[operand].changed < at; });
    }

    /// `if x is None` is decided by the type of x (unless it is optional): the other side is neither typed
    /// nor compiled.
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
        if (!decided_by_type(condition)) return {last.targets[0], last.targets[1]};
        if (!condition.type) return {nothing, nothing};  // not known yet
        if (!condition.type->literal) return {last.targets[0], last.targets[1]};
        return {last.targets[*condition.type->literal ? 0 : 1], nothing};
    }

    /// `x is None`, `isinstance(x, int)`, `hasattr(x, "size")`.
    bool decided_by_type(const Instruction& condition) const {
        if (condition.opcode == Opcode::binary)
            return condition.op == Operator::is || condition.op == Operator::is_not;
        if (condition.opcode != Opcode::call) return false;
        const GlobalValue* callee = graph_.instructions[condition.operands[0]].global;
        return callee && callee->kind == GlobalKind::intrinsic &&
               (callee->text == "isinstance" || callee->text == "hasattr");
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
        const Location place = graph_.versions[phi.version].location;
        for (const auto& [block, version] : phi.incoming) {
            const TypeRef type = version == nothing ? nullptr : graph_.versions[version].type;
            if (!type || !feasible(block, joined)) continue;
            const TypeRef unified = result ? unify(result, type, place) : type;
            if (!unified) cannot_unify(phi, result, type);
            result = unified;
        }
        for (const auto& [block, version] : phi.incoming) {
            if (version != nothing) ask_for_cast(graph_.versions[version].type, result, place);
        }
        return result;
    }

    /// For emission. A type may have been unified with others before those met one that a program has added.
    void ask_for_cast(TypeRef from, TypeRef to, Location place) {
        if (from && to) (void)program_.ask_for_cast(from, to, place);
    }

    /// The state of an iterator is in the memory of the function that made it.
    void check_no_iterator(const Instruction& returns) {
        if (is_argument(returns.operands[0], 0)) return;
        const TypeRef iterator = iterator_in(returns.type);
        if (!iterator) return;
        refuse_unsupported(
            "returning an iterator (" + iterator->name +
                ") is not supported in kernels yet: it ends with the function that made it; return "
                "what it runs over",
            returns.location);
    }

    /// The iterator that a value is or has inside, or null.
    TypeRef iterator_in(TypeRef type) {
        type = type->present();
        if (type->is_iterator() || (type->is(TypeKind::added) && is_added_iterator(program_, type, {})))
            return type;
        if (!type->is(TypeKind::tuple)) return nullptr;
        for (TypeRef element : type->elements)
            if (const TypeRef found = iterator_in(element)) return found;
        return nullptr;
    }

    TypeRef unify(TypeRef a, TypeRef b, Location place) {
        if (const TypeRef unified = program_.promotion.unify(a, b)) return unified;
        a = types_.without_literal(a), b = types_.without_literal(b);
        if (program_.ask_for_cast(a, b, place)) return b;
        return program_.ask_for_cast(b, a, place) ? a : nullptr;
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
        auto raw = [&](std::size_t i) { return type(in.operands[i]); };
        auto operand = [&](std::size_t i) { return raw(i)->present(); };
        switch (in.opcode) {
            case Opcode::constant:
                return program_.type_of(*in.global, in.location);
            case Opcode::argument:
                return specialisation_.arguments[in.index];
            case Opcode::load:
                return graph_.versions[in.version].type;
            case Opcode::store:
            case Opcode::spread:
                return raw(0);
            case Opcode::unary:
                return resolved(in, resolve_unary(program_, in, in.op, raw(0))).result;
            case Opcode::binary:
                return resolved(in, binary(in, raw(0), raw(1))).result;
            case Opcode::get_attribute:
                return resolved(in, attribute(in, raw(0)->is(TypeKind::member) ? raw(0) : operand(0))).result;
            case Opcode::get_item:
                return resolved(in, resolve_get_item(program_, in, operand(0), operand(1))).result;
            case Opcode::set_item:
                return resolved(in, resolve_set_item(program_, in, operand(0), operand(1), operand(2)))
                    .result;
            case Opcode::set_attribute:
                return resolved(in, resolve_set_attribute(program_, in, operand(0), operand(1))).result;
            case Opcode::call:
                return call(in);
            case Opcode::build_tuple:
                return build_tuple(in);
            case Opcode::build_slice:
                return build_slice(in);
            case Opcode::unpack:
                return resolved(in, resolve_unpack(program_, in, operand(0))).result;
            case Opcode::iterate:
                return iterator_over(program_, operand(0), in.id, 0, in.location);
            case Opcode::advance:
                return types_.boolean;
            case Opcode::element:
                return element_type(types_, operand(0));
            case Opcode::branch:
                if (operand(0)->is(TypeKind::added))
                    return resolved(in, added_condition(program_, operand(0), in.location)), types_.none;
                check_condition(raw(0), in.location);
                return types_.none;
            case Opcode::return_:
                return in.operands.empty() ? types_.none : raw(0);
            case Opcode::unroll:
                throw UnrollNeeded{in.index, unrolled_size(in, operand(0))};
            case Opcode::raise:
                if (!in.operands.empty()) check_raised(in, raw(0));
                return types_.none;
            case Opcode::jump:
                return types_.none;
        }
        return nullptr;
    }

    Resolution binary(const Instruction& in, TypeRef left, TypeRef right) {
        if (!in.text.empty()) {
            if (auto added = added_in_place(program_, in, left, right)) return std::move(*added);
        }
        return resolve_binary(program_, in, in.op, left, right);
    }

    std::vector<TypeRef> operand_types(const Instruction& in) const {
        std::vector<TypeRef> types;
        for (ValueId operand : in.operands) types.push_back(type(operand));
        return types;
    }

    /// The compiler's own attributes come first, then what programs have added.
    Resolution attribute(const Instruction& in, TypeRef object) {
        if (const Extension* added = program_.extension(object, in.text)) return extended(in, object, *added);
        try {
            return resolve_attribute(program_, in, object);
        } catch (SourceError& error) {
            const Extension* added = program_.ask_for_extension(object, in.text, in.location);
            if (added) return extended(in, object, *added);
            error.is_final = true;
            throw;
        }
    }

    Resolution extended(const Instruction& in, TypeRef object, const Extension& added) {
        if (added.is_method)
            return {.rule = &method_rule(), .result = types_.added_method(object, added.function)};
        Resolution call{.sources = {0}, .given = {object}, .arguments = {object}};
        program_.resolve(added.function, call, in.location);
        return call;
    }

    const Resolution& resolved(const Instruction& in, Resolution resolution) {
        return specialisation_.resolutions.put(in.id, std::move(resolution));
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

    TypeRef call(const Instruction& in) {
        for (ValueId operand : in.operands) {
            if (graph_.instructions[operand].opcode == Opcode::spread) return nullptr;  // not known yet
        }
        const TypeRef callee = type(in.operands[0]);
        if (callee->added) return function_call(in, *callee->added);
        if (callee->is(TypeKind::method)) return table_call(in, callee->row);
        if (callee->is(TypeKind::object)) {
            const GlobalValue& global = *callee->global;
            if (global.kind == GlobalKind::function)
                return function_call(in, static_cast<std::uint32_t>(global.integer));
            if (global.kind == GlobalKind::intrinsic) return table_call(in, global.text);
        }
        if (const Rule* rule = rule_of_call(callee)) {
            std::vector<std::uint32_t> all(in.operands.size() - 1);
            std::iota(all.begin(), all.end(), 1U);
            return rule_call(in, *rule, std::move(all));
        }
        std::string given;
        for (std::size_t i = 1; i < in.operands.size(); ++i)
            given += (i > 1 ? ", " : "") + type(in.operands[i])->name;
        refuse_typing("Invalid use of " + callee->name + " with parameters (" + given +
                          ")\nNo type info available for " + callee->name +
                          " as a callable: it cannot be called",
                      in.location);
    }

    void check_raised(const Instruction& in, TypeRef raised) {
        const bool exception_class =
            raised->is(TypeKind::object) && raised->global->kind == GlobalKind::exception;
        if (raised->is(TypeKind::exception) || exception_class) return;
        refuse_unsupported("only exception classes and calls of them can be raised in kernels", in.location,
                           Standing::not_gpu_code);
    }

    std::size_t unrolled_size(const Instruction& in, TypeRef over) {
        if (over->is(TypeKind::tuple)) return over->elements.size();
        refuse_typing(
            "Invalid use of literal_unroll with a value of type " + over->name + ": it takes a tuple",
            in.location);
    }

    TypeRef table_call(const Instruction& in, const std::string& name) {
        const Callable* callable = find_callable(name);
        try {
            if (auto added = added_call(program_, in, name, operand_types(in)))
                return resolved(in, std::move(*added)).result;
            if (callable && takes_converted(name)) return rule_call(in, *callable, bind_call(*callable, in));
        } catch (const SourceError&) {
            if (!callable || !takes_converted(name)) throw;
            Resolution found = of_converted(in, *callable);
            if (!found.result) throw;
            return resolved(in, std::move(found)).result;
        }
        if (!callable) {
            // What Numba's CUDA target has and this compiler has not yet; all else Numba refuses too.
            static constexpr std::string_view missing[] = {"iter", "next", "slice"};
            if (name.starts_with("numpy.")) {
                const std::string instead(instead_of_ufunc(name));
                refuse_unsupported(name + "() is not supported in kernels, nor by Numba's CUDA target" +
                                       (instead.empty() ? "" : ": write " + instead),
                                   in.location, Standing::not_gpu_code);
            }
            if (std::ranges::find(missing, name) != std::end(missing))
                refuse_unsupported(name + " is not supported in kernels yet", in.location);
            // CPython has no meaning for what only a GPU has.
            const Standing standing = name.starts_with("cuda.") ? Standing::never : Standing::not_gpu_code;
            refuse_typing("Untyped global name '" + name + "': it is not supported in kernels", in.location,
                          standing);
        }
        return rule_call(in, *callable, bind_call(*callable, in));
    }

    /// @param sources operand of the call for each of the rule's parameters, 0 for a method's own object
    TypeRef rule_call(const Instruction& in, const Rule& rule, std::vector<std::uint32_t> sources) {
        const std::vector<TypeRef> arguments = argument_types(in, rule, sources);
        return resolved(in, by_rule_of_call(in, rule, std::move(sources), arguments)).result;
    }

    std::vector<TypeRef> argument_types(const Instruction& in, const Rule& rule,
                                        std::span<const std::uint32_t> sources) const {
        std::vector<TypeRef> types;
        for (std::uint32_t operand : sources) {
            TypeRef argument = operand == nothing ? nullptr : type(in.operands[operand]);
            if (argument && !rule.takes_optional) argument = argument->present();
            types.push_back(operand == 0 ? argument->element() : argument);
        }
        return types;
    }

    Resolution by_rule_of_call(const Instruction& in, const Rule& rule, std::vector<std::uint32_t> sources,
                               std::vector<TypeRef> arguments) {
        Resolution bound{.rule = &rule, .sources = std::move(sources), .called = type(in.operands[0])};
        CallTyping typing{program_, rule, in, bound, std::move(arguments)};
        bound.result = rule.type(typing);
        return bound;
    }

    /// A call with numbers that arguments of types which a program has added convert to.
    Resolution of_converted(const Instruction& in, const Rule& rule) {
        const std::vector<std::uint32_t> sources = bind_call(rule, in);
        return by_conversion(program_, in.location, argument_types(in, rule, sources),
                             [&](const auto& types) { return by_rule_of_call(in, rule, sources, types); });
    }

    TypeRef function_call(const Instruction& in, std::uint32_t function) {
        const FunctionSource& callee = program_.source(function);
        if (callee.syntax.takes_rest && !in.packed) return nullptr;  // spread_calls.h, in the next round
        Resolution called = program_.bound(function, in, [&](ValueId operand) { return type(operand); });
        const std::vector<TypeRef> arguments = called.arguments;
        try {
            program_.resolve(function, called, in.location);
            return resolved(in, std::move(called)).result;
        } catch (SourceError& error) {
            if (!callee.library_name.empty() && graph_.source->library_name.empty())
                refuse_library_call(callee, arguments, error, in.location);
            const FunctionSource& caller = *graph_.source;
            if (!error.file.empty()) {
                error.callers.push_back("File \"" + caller.file + "\", line " +
                                        std::to_string(in.location.line) + ", in " + caller.syntax.name);
            }
            throw;
        }
    }

    /// What a function of cudasim.kernel_library does not take, in words about the call.
    [[noreturn]] static void refuse_library_call(const FunctionSource& callee,
                                                 const std::vector<TypeRef>& arguments,
                                                 const SourceError& error, Location place) {
        std::string given;
        for (TypeRef argument : arguments) given += (given.empty() ? "" : ", ") + argument->name;
        SourceError refusal(
            ErrorClass::typing,
            "No implementation of " + callee.library_name + " for argument types (" + given + ")", place);
        refusal.standing = error.standing;
        throw refusal;
    }

    /// Whether a value is one of the function's arguments, whatever variables it went through.
    bool is_argument(ValueId value, unsigned depth) const {
        const Instruction& in = graph_.instructions[value];
        if (in.opcode == Opcode::argument) return true;
        return in.opcode == Opcode::load && depth < 100 && holds_argument(in.version, depth + 1);
    }

    bool holds_argument(VersionId version, unsigned depth) const {
        for (BlockId id : graph_.order) {
            for (const Phi& phi : graph_.blocks[id].phis) {
                if (phi.version != version) continue;
                return std::ranges::all_of(phi.incoming, [&](const auto& incoming) {
                    return incoming.second == nothing || incoming.second == version ||
                           (depth < 100 && holds_argument(incoming.second, depth + 1));
                });
            }
            for (ValueId value : graph_.blocks[id].instructions) {
                const Instruction& in = graph_.instructions[value];
                if (in.opcode == Opcode::store && in.version == version)
                    return is_argument(in.operands[0], depth);
            }
        }
        return false;
    }

    /// The unified type of the returns typed so far; null when there are returns, but none is typed.
    TypeRef return_type() {
        const TypeRef declared = specialisation_.declared_result;
        TypeRef result = declared;
        bool returns = false;
        for (BlockId id : graph_.order) {
            const Instruction& last = graph_.instructions[graph_.blocks[id].instructions.back()];
            if (!reachable_[id] || last.opcode != Opcode::return_) continue;
            returns = true;
            if (!last.type) continue;
            if (!last.operands.empty() && last.type->is(TypeKind::array) &&
                !is_argument(last.operands[0], 0)) {
                refuse_typing(
                    "Only accept returning of array passed into the function as argument: a function that "
                    "kernels "
                    "call cannot return an array or view that it made",
                    last.location);
            }
            if (!last.operands.empty()) check_no_iterator(last);
            const TypeRef type = types_.without_literal(last.type);
            if (declared && !declared->is(TypeKind::none) && !conversion_cost(type, declared) &&
                !program_.ask_for_cast(type, declared, last.location)) {
                refuse_typing("Cannot convert " + type->name + " to " + declared->name +
                                  ", the declared type of the return value",
                              last.location);
            }
            if (declared) continue;
            const TypeRef unified = result ? unify(result, type, last.location) : type;
            if (!unified) {
                refuse_typing("Cannot unify " + result->name + " and " + type->name + " for the return value",
                              last.location);
            }
            result = unified;
        }
        for (BlockId id : graph_.order) {
            const Instruction& last = graph_.instructions[graph_.blocks[id].instructions.back()];
            if (reachable_[id] && last.opcode == Opcode::return_)
                ask_for_cast(last.type, result, last.location);
        }
        return result || returns ? result : types_.none;
    }

    static constexpr std::uint64_t largest_tuple = 1000;  // each is a variable of the compiled code

    Program& program_;
    TypeTable& types_;
    Specialisation& specialisation_;
    FlowGraph& graph_;
    std::vector<char> reachable_;         ///< by block
    std::optional<SourceError> refused_;  ///< the first of this round

    static constexpr std::uint32_t never = 0;
    struct Typed {
        std::uint32_t at = never;       ///< when it was typed last, by its operands only
        std::uint32_t changed = never;  ///< when its type became another one
    };
    std::vector<Typed> typed_;  ///< by ValueId
    std::uint32_t clock_ = never;
};

}  // namespace

void infer_types(Program& program, Specialisation& specialisation) {
    Inference(program, specialisation).run();
}

bool finish_types(Program& program, Specialisation& specialisation) {
    return Inference(program, specialisation).finish();
}

}  // namespace cudasim::pykernel
