// Versions of variables. A phi exists where several assignments meet (simulator/image/dominance.h) and the
// variable is read afterwards, as in Numba.
#include <algorithm>
#include <map>
#include <optional>

#include "frontend/pykernel/graph/flow_graph.h"
#include "simulator/image/dominance.h"

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
        : graph_(graph),
          dominance_(graph.order, predecessors(graph)),
          at_end_(graph.blocks.size()),
          at_begin_(graph.blocks.size()),
          assigned_in_(graph.variables.size()),
          definitions_(graph.variables.size()) {}

    void run() {
        for (BlockId block : graph_.order) number_stores(block);
        for (BlockId block : graph_.order) resolve_loads(block);
    }

  private:
    static std::vector<std::vector<BlockId>> predecessors(const FlowGraph& graph) {
        std::vector<std::vector<BlockId>> all;
        for (const Block& block : graph.blocks) all.push_back(block.predecessors);
        return all;
    }

    void number_stores(BlockId block) {
        for (ValueId id : graph_.blocks[block].instructions) {
            Instruction& instruction = graph_.instructions[id];
            if (instruction.opcode != Opcode::store) continue;
            const VariableId variable = instruction.variable;
            instruction.version = new_version(variable, instruction.location, false);
            if (at_end_[block].insert_or_assign(variable, instruction.version).second)
                assigned_in_[variable].push_back(block);
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

    VersionId version_at_begin(BlockId block, VariableId variable) {
        const image::Definitions& definitions = definitions_of(variable);
        const VersionId version = version_of(definitions.at_begin(block), variable);
        while (!unfinished_.empty()) {
            const auto [join, phi] = unfinished_.back();
            unfinished_.pop_back();
            Phi made{phi, {}};
            for (BlockId predecessor : graph_.blocks[join].predecessors)
                made.incoming.emplace_back(predecessor,
                                           version_of(definitions.at_end(predecessor), variable));
            graph_.blocks[join].phis.push_back(std::move(made));
        }
        return version;
    }

    const image::Definitions& definitions_of(VariableId variable) {
        auto& definitions = definitions_[variable];
        if (!definitions) definitions.emplace(dominance_, assigned_in_[variable]);
        return *definitions;
    }

    VersionId version_of(image::Definitions::Reaching reaching, VariableId variable) {
        if (reaching.block == image::no_block) return nothing;
        if (!reaching.is_join) return at_end_[reaching.block].at(variable);
        const auto [known, fresh] = at_begin_[reaching.block].try_emplace(variable, nothing);
        if (fresh) {
            known->second = new_version(variable, first_location(reaching.block), true);
            unfinished_.emplace_back(reaching.block, known->second);
        }
        return known->second;
    }

    VersionId new_version(VariableId variable, Location location, bool is_phi) {
        graph_.versions.push_back({variable, location, nullptr, is_phi});
        return static_cast<VersionId>(graph_.versions.size() - 1);
    }

    Location first_location(BlockId block) const {
        return graph_.instructions[graph_.blocks[block].instructions.front()].location;
    }

    FlowGraph& graph_;
    image::Dominance dominance_;
    std::vector<std::map<VariableId, VersionId>> at_end_;         ///< by block: of the last store in it
    std::vector<std::map<VariableId, VersionId>> at_begin_;       ///< by block: phis
    std::vector<std::vector<BlockId>> assigned_in_;               ///< by variable
    std::vector<std::optional<image::Definitions>> definitions_;  ///< by variable, of those that are read
    std::vector<std::pair<BlockId, VersionId>> unfinished_;       ///< phis without their incoming versions
};

}  // namespace

void assign_versions(FlowGraph& graph) {
    order_blocks(graph);
    VersionAssigner(graph).run();
}

}  // namespace cudasim::pykernel
