// See spread_calls.h.
#include "frontend/pykernel/infer/spread_calls.h"

#include <algorithm>

namespace cudasim::pykernel {
namespace {

class Expansion {
  public:
    Expansion(Program& program, FlowGraph& graph, BlockId block)
        : program_(program), graph_(graph), block_(block) {}

    void run() {
        for (position_ = 0; position_ < instructions().size(); ++position_) {
            const ValueId id = instructions()[position_];
            if (graph_.instructions[id].opcode != Opcode::call) continue;
            spread(id);
            pack(id);
        }
    }

  private:
    std::vector<ValueId>& instructions() { return graph_.blocks[block_].instructions; }

    /// Inserts an instruction before the call.
    ValueId insert(Instruction instruction) {
        const auto id = static_cast<ValueId>(graph_.instructions.size());
        instruction.id = id;
        graph_.instructions.push_back(std::move(instruction));
        instructions().insert(instructions().begin() + static_cast<std::ptrdiff_t>(position_++), id);
        return id;
    }

    void spread(ValueId call) {
        for (std::size_t i = 1; i < graph_.instructions[call].operands.size();) {
            const Instruction operand = graph_.instructions[graph_.instructions[call].operands[i]];
            if (operand.opcode != Opcode::spread) {
                ++i;
                continue;
            }
            if (!operand.type) return;  // not known yet
            if (!operand.type->is(TypeKind::tuple))
                refuse_typing("*args in function call should be a tuple, got " + operand.type->name,
                              operand.location);
            const auto count = static_cast<std::uint32_t>(operand.type->elements.size());
            std::vector<ValueId> elements;
            for (std::uint32_t index = 0; index < count; ++index) {
                elements.push_back(insert({.opcode = Opcode::unpack,
                                           .location = operand.location,
                                           .operands = operand.operands,
                                           .index = index,
                                           .count = count}));
            }
            auto& operands = graph_.instructions[call].operands;
            const auto place = operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
            operands.insert(place, elements.begin(), elements.end());
            i += count;
        }
    }

    void pack(ValueId call) {
        const Instruction in = graph_.instructions[call];
        const TypeRef callee = graph_.instructions[in.operands[0]].type;
        if (in.packed || !callee) return;
        const bool is_method = callee->added.has_value();  // whose first argument is no operand
        if (!is_method && (!callee->is(TypeKind::object) || callee->global->kind != GlobalKind::function))
            return;
        const auto function =
            is_method ? *callee->added : static_cast<std::uint32_t>(callee->global->integer);
        const FunctionSyntax& syntax = program_.source(function).syntax;
        const bool spreads = std::ranges::any_of(
            in.operands, [&](ValueId id) { return graph_.instructions[id].opcode == Opcode::spread; });
        if (!syntax.takes_rest || spreads) return;
        const std::size_t plain = syntax.parameters.size() - (is_method ? 2 : 1);
        const std::size_t positional = in.operands.size() - 1 - in.keywords.size();
        if (positional < plain) {
            refuse_typing(syntax.name + "() takes at least " + std::to_string(plain) + " arguments, but " +
                              std::to_string(positional) + " are given",
                          in.location);
        }
        const auto first = in.operands.begin() + 1 + static_cast<std::ptrdiff_t>(plain);
        const auto end = in.operands.end() - static_cast<std::ptrdiff_t>(in.keywords.size());
        const ValueId rest =
            insert({.opcode = Opcode::build_tuple, .location = in.location, .operands = {first, end}});
        Instruction& packed = graph_.instructions[call];
        packed.operands.assign(in.operands.begin(), first);
        packed.operands.push_back(rest);
        packed.operands.insert(packed.operands.end(), end, in.operands.end());
        packed.packed = true;
    }

    Program& program_;
    FlowGraph& graph_;
    BlockId block_;
    std::size_t position_ = 0;
};

}  // namespace

void expand_spread_arguments(Program& program, FlowGraph& graph, BlockId block) {
    Expansion(program, graph, block).run();
}

}  // namespace cudasim::pykernel
