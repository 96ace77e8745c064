// Versions of variables: on-demand construction of SSA form (Braun et al., "Simple and efficient
// construction of static single assignment form", CC 2013) on the finished graph, so that phis exist
// only where a variable is read afterwards, as in Numba.
#include <algorithm>
#include <map>

#include "frontend/pykernel/flow_graph.h"

namespace cudasim::pykernel {
namespace {

void order_blocks(FlowGraph& graph) {
    std::vector<char> seen(graph.blocks.size(), 0);
    std::vector<std::pair<BlockId, int>> stack{{0, 0}};
    seen[0] = 1;
    while (!stack.empty()) {
        auto& [block, next] = stack.back();
        const Instruction& last = graph.instructions[graph.blocks[block].instructions.back()];
        if (next == 2) {
            graph.order.push_back(block);
            stack.pop_back();
            continue;
        }
        // The second target first, so that the first comes earlier in the reversed order.
        const BlockId target = last.targets[1 - next++];
        if (target == nothing) continue;
        graph.blocks[target].predecessors.push_back(block);
        if (!seen[target]) {
            seen[target] = 1;
            stack.emplace_back(target, 0);
        }
    }
    std::ranges::reverse(graph.order);
}

class VersionAssigner {
  public:
    explicit VersionAssigner(FlowGraph& graph)
        : graph_(graph), at_end_(graph.blocks.size()), at_begin_(graph.blocks.size()) {}

    void run() {
        for (BlockId block : graph_.order) number_stores(block);
        for (BlockId block : graph_.order) resolve_loads(block);
    }

  private:
    void number_stores(BlockId block) {
        for (ValueId id : graph_.blocks[block].instructions) {
            Instruction& instruction = graph_.instructions[id];
            if (instruction.opcode != Opcode::store) continue;
            instruction.version = new_version(instruction.variable, instruction.location, false);
            at_end_[block][instruction.variable] = instruction.version;
        }
    }

    void resolve_loads(BlockId block) {
        std::map<VariableId, VersionId> current;
        for (ValueId id : graph_.blocks[block].instructions) {
            Instruction& instruction = graph_.instructions[id];
            if (instruction.opcode == Opcode::store) current[instruction.variable] = instruction.version;
            if (instruction.opcode != Opcode::load) continue;
            const auto found = current.find(instruction.variable);
            instruction.version =
                found != current.end() ? found->second : version_at_begin(block, instruction.variable);
            if (instruction.version == nothing) {
                throw SourceError(ErrorClass::not_defined,
                                  "Variable '" + graph_.variables[instruction.variable].name +
                                      "' is not defined: it is used before any value is assigned to it",
                                  instruction.location);
            }
        }
    }

    VersionId version_at_end(BlockId block, VariableId variable) {
        const auto found = at_end_[block].find(variable);
        return found != at_end_[block].end() ? found->second : version_at_begin(block, variable);
    }

    VersionId version_at_begin(BlockId block, VariableId variable) {
        if (const auto found = at_begin_[block].find(variable); found != at_begin_[block].end()) {
            return found->second;
        }
        const std::vector<BlockId> predecessors = graph_.blocks[block].predecessors;
        if (predecessors.empty()) return nothing;
        if (predecessors.size() == 1 && block != 0) {
            const VersionId version = version_at_end(predecessors[0], variable);
            return at_begin_[block][variable] = version;
        }
        const VersionId version = new_version(variable, first_location(block), true);
        at_begin_[block][variable] = version;  // ends the recursion around loops
        Phi phi{version, {}};
        for (BlockId predecessor : predecessors) {
            phi.incoming.emplace_back(predecessor, version_at_end(predecessor, variable));
        }
        const bool unassigned = std::ranges::all_of(phi.incoming, [&](const auto& incoming) {
            return incoming.second == nothing || incoming.second == version;
        });
        if (unassigned) return at_begin_[block][variable] = nothing;
        graph_.blocks[block].phis.push_back(std::move(phi));
        return version;
    }

    VersionId new_version(VariableId variable, Location location, bool is_phi) {
        graph_.versions.push_back({variable, location, nullptr, is_phi});
        return static_cast<VersionId>(graph_.versions.size() - 1);
    }

    Location first_location(BlockId block) const {
        return graph_.instructions[graph_.blocks[block].instructions.front()].location;
    }

    FlowGraph& graph_;
    std::vector<std::map<VariableId, VersionId>> at_end_, at_begin_;
};

}  // namespace

void assign_versions(FlowGraph& graph) {
    order_blocks(graph);
    VersionAssigner(graph).run();
}

}  // namespace cudasim::pykernel
