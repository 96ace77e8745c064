// The driver: parse the argument types, infer, emit.
#include "frontend/pykernel/compile.h"

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {
namespace {

std::vector<TypeRef> parse_arguments(Program& program, const Request& request) {
    const FunctionSyntax& kernel = request.functions.front().syntax;
    if (kernel.takes_rest)
        refuse_unsupported("a `*` parameter of a kernel is not supported", kernel.parameters.back().location);
    std::vector<TypeRef> arguments;
    for (const std::string& name : request.argument_types) {
        const TypeRef type = program.types.parse(name);
        if (!type)
            refuse_unsupported("arguments of type " + name + " are not supported yet", kernel.location);
        arguments.push_back(type);
    }
    if (arguments.size() != kernel.parameters.size()) {
        refuse_typing(kernel.name + "() takes " + std::to_string(kernel.parameters.size()) +
                          " arguments, but " + std::to_string(arguments.size()) + " are given",
                      kernel.location);
    }
    return arguments;
}

void check_returns_nothing(const Specialisation& kernel) {
    if (kernel.result->is(TypeKind::none)) return;
    for (BlockId id : kernel.graph.order) {
        const Instruction& last = kernel.graph.instructions[kernel.graph.blocks[id].instructions.back()];
        if (last.opcode == Opcode::return_ && !last.type->is(TypeKind::none)) {
            refuse_typing("CUDA kernel must have void return type, but '" + kernel.graph.source->syntax.name +
                              "' returns a value of type " + kernel.result->name +
                              ": store the result in an array argument",
                          last.location, Standing::never);
        }
    }
}

std::string typed_ir(const Program& program) {
    std::string text;
    for (const Specialisation& specialisation : program.specialisations()) {
        if (!specialisation.finished) continue;
        if (!text.empty()) text += "\n";
        text += to_text(specialisation.graph, specialisation.arguments);
    }
    return text;
}

TypeRef declared_result(Program& program, const Request& request) {
    if (request.result_type.empty()) return nullptr;
    if (request.result_type == "none") return program.types.none;
    const TypeRef type = program.types.parse(request.result_type);
    if (!type)
        refuse_unsupported("results of type " + request.result_type + " are not supported yet",
                           request.functions.front().syntax.location);
    return type;
}

std::vector<Overload> overloads(const Program& program) {
    std::vector<Overload> result;
    for (const Specialisation& specialisation : program.specialisations()) {
        if (!specialisation.finished) continue;
        Overload& overload = result.emplace_back();
        overload.function = specialisation.function;
        for (TypeRef argument : specialisation.arguments)
            overload.arguments.push_back(argument->request_name());
        overload.result = specialisation.result->request_name();
    }
    return result;
}

/// The calls that Numba's CUDA target refuses.
std::set<Note> notes(const Program& program) {
    std::set<Note> result;
    for (const Specialisation& specialisation : program.specialisations()) {
        const FlowGraph& graph = specialisation.graph;
        for (const Instruction& in : graph.instructions) {
            if (in.opcode != Opcode::call || !in.type) continue;
            const TypeRef callee = graph.instructions[in.operands[0]].type;
            if (!callee || !callee->is(TypeKind::object) || callee->global->kind != GlobalKind::intrinsic ||
                callee->global->text != "reversed") {
                continue;
            }
            result.insert(
                {"reversed() runs here but not on a GPU: Numba's CUDA target refuses it (Untyped global name "
                 "'reversed'); write range(n - 1, -1, -1), or a[::-1]",
                 graph.source->file, in.location.line});
        }
    }
    return result;
}

}  // namespace

Result compile(const Request& request) {
    Program program(request);
    return in_source(request.functions.front(), [&] {
        const std::vector<TypeRef> arguments = parse_arguments(program, request);
        Specialisation& root = program.root(arguments, declared_result(program, request));
        const bool is_kernel = request.entry == Entry::kernel;
        if (is_kernel) check_returns_nothing(root);
        ModuleEmitter emitter(program);
        return Result{emitter.run(root), is_kernel ? root.symbol : request.entry_name, typed_ir(program),
                      notes(program), overloads(program)};
    });
}

bool knows_callable(std::string_view name) {
    return find_callable(name) != nullptr || name == "cuda.literal_unroll";  // a form of `for`, no call
}

}  // namespace cudasim::pykernel
