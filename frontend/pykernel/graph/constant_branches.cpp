// Branches on variables whose value is known before typing: `n = 0` and nothing else gives `n or x` its
// left side. Numba prunes them behind SSA, too, so what stands on the other side is not typed.
#include <algorithm>

#include "frontend/pykernel/graph/flow_graph_builder.h"

namespace cudasim::pykernel {
namespace {

class ConstantBranches {
  public:
    explicit ConstantBranches(FlowGraph& graph) : graph_(graph), stored_(graph.versions.size(), nothing) {
        for (const BlockId block : graph.order)
            for (const ValueId id : graph.blocks[block].instructions)
                if (const Instruction& in = graph.instructions[id]; in.opcode == Opcode::store)
                    stored_[in.version] = in.operands[0];
    }

    bool prune() {
        bool any = false;
        for (const BlockId block : graph_.order) {
            Instruction& last = graph_.instructions[graph_.blocks[block].instructions.back()];
            if (last.opcode != Opcode::branch) continue;
            const std::optional<bool> truth = truth_of_value(last.operands[0]);
            if (!truth) continue;
            last.opcode = Opcode::jump;
            last.operands.clear();
            last.targets[0] = last.targets[*truth ? 0 : 1];
            last.targets[1] = nothing;
            any = true;
        }
        return any;
    }

  private:
    /// What computes the value, also where it has been stored in variables in between.
    const Instruction& origin(ValueId value) const {
        for (;;) {
            const Instruction& in = graph_.instructions[value];
            if (in.opcode == Opcode::load && in.version != nothing && stored_[in.version] != nothing)
                value = stored_[in.version];
            else if (in.opcode == Opcode::unpack && is_exchange(graph_.instructions[in.operands[0]]))
                value = graph_.instructions[in.operands[0]].operands[in.index];
            else
                return in;
        }
    }

    /// The right side of `a, b = x, y`, for which CPython makes no tuple unless it is one constant.
    bool is_exchange(const Instruction& tuple) const {
        if (tuple.opcode != Opcode::build_tuple || tuple.operands.size() > 3) return false;
        return std::ranges::any_of(tuple.operands, [&](ValueId element) {
            const Instruction& in = graph_.instructions[element];
            return in.opcode != Opcode::constant || !in.text.empty();
        });
    }

    const GlobalValue* constant(ValueId value) const {
        const Instruction& in = origin(value);
        return in.opcode == Opcode::constant ? in.global : nullptr;
    }

    /// Numba does not look into the operands of operands.
    std::optional<bool> truth_of_value(ValueId value) const {
        const Instruction& in = origin(value);
        if (in.opcode == Opcode::constant) return truth_of(*in.global);
        if (in.opcode != Opcode::binary || !in.text.empty()) return std::nullopt;
        const GlobalValue *left = constant(in.operands[0]), *right = constant(in.operands[1]);
        return left && right ? truth_of_binary(in.op, *left, *right) : std::nullopt;
    }

    FlowGraph& graph_;
    std::vector<ValueId> stored_;  ///< by version; `nothing` for phis
};

}  // namespace

bool prune_constant_branches(FlowGraph& graph) {
    return ConstantBranches(graph).prune();
}

}  // namespace cudasim::pykernel
