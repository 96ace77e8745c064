// Versions of variables: on-demand construction of SSA form (Braun et al., "Simple and efficient
// construction of static single assignment form", CC 2013) on the finished graph, so that phis exist
// only where a variable is read afterwards, as in Numba.
#include <algorithm>
#include <map>
#include <optional>

#include "frontend/pykernel/graph/flow_graph.h"

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

    /// A block whose version of a variable is being looked for: that of its only predecessor, or a phi of
    /// several.
    struct Search {
        BlockId block;
        VersionId phi;         ///< nothing: there is one predecessor
        std::size_t next = 0;  ///< predecessor
        std::vector<std::pair<BlockId, VersionId>> incoming = {};
    };

    /// Known already, without a search of the predecessors.
    std::optional<VersionId> known_at_end(BlockId block, VariableId variable) const {
        if (const auto found = at_end_[block].find(variable); found != at_end_[block].end())
            return found->second;
        return known_at_begin(block, variable);
    }

    std::optional<VersionId> known_at_begin(BlockId block, VariableId variable) const {
        if (const auto found = at_begin_[block].find(variable); found != at_begin_[block].end())
            return found->second;
        return graph_.blocks[block].predecessors.empty() ? std::optional(nothing) : std::nullopt;
    }

    /// The search goes back through the predecessors, on a stack of its own: a function may have a million
    /// blocks.
    VersionId version_at_begin(BlockId asked, VariableId variable) {
        if (const auto known = known_at_begin(asked, variable)) return *known;
        std::vector<Search> searches{begin_search(asked, variable)};
        for (;;) {
            Search& search = searches.back();
            const auto& predecessors = graph_.blocks[search.block].predecessors;
            if (search.next < predecessors.size()) {
                const BlockId predecessor = predecessors[search.next];
                const auto known = known_at_end(predecessor, variable);
                if (known) {
                    search.incoming.emplace_back(predecessor, *known);
                    ++search.next;
                } else {
                    searches.push_back(begin_search(predecessor, variable));
                }
                continue;
            }
            const VersionId version = end_search(search);
            at_begin_[search.block][variable] = version;
            searches.pop_back();
            if (searches.empty()) return version;
        }
    }

    Search begin_search(BlockId block, VariableId variable) {
        if (graph_.blocks[block].predecessors.size() == 1 && block != 0) return {block, nothing};
        const VersionId version = new_version(variable, first_location(block), true);
        at_begin_[block][variable] = version;  // where the search comes round a loop
        return {block, version};
    }

    VersionId end_search(Search& search) {
        if (search.phi == nothing) return search.incoming.front().second;
        const bool unassigned = std::ranges::all_of(search.incoming, [&](const auto& incoming) {
            return incoming.second == nothing || incoming.second == search.phi;
        });
        if (unassigned) return nothing;
        graph_.blocks[search.block].phis.push_back({search.phi, std::move(search.incoming)});
        return search.phi;
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
