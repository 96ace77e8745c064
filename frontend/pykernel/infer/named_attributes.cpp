#include "frontend/pykernel/infer/named_attributes.h"

#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {

bool has_attribute(Program& program, TypeRef object, const std::string& name, Location place) {
    try {
        const Instruction asked{.opcode = Opcode::get_attribute, .location = place, .text = name};
        (void)resolve_attribute(program, asked, object);
        return true;
    } catch (const SourceError&) {
        return program.ask_for_extension(object, name, place) != nullptr;
    }
}

void name_attribute(Program& program, FlowGraph& graph, Instruction& call) {
    if (call.opcode != Opcode::call || !call.keywords.empty()) return;
    const GlobalValue* callee = graph.instructions[call.operands[0]].global;
    const std::size_t given = call.operands.size() - 1;
    if (!callee || callee->kind != GlobalKind::intrinsic || callee->text != "getattr") return;
    if (given != 2 && given != 3) return;
    const TypeRef name = graph.instructions[call.operands[2]].type;
    if (!name->is(TypeKind::text))
        refuse_typing("getattr(): RequireLiteralValue: the name must be a literal string", call.location);
    const TypeRef object = graph.instructions[call.operands[1]].type->present();
    if (given == 3 && !has_attribute(program, object, name->text, call.location)) return;
    call.opcode = Opcode::get_attribute;
    call.text = name->text;
    call.operands = {call.operands[1]};
}

}  // namespace cudasim::pykernel
