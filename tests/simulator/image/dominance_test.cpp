// Which assignments reach a place, against a walk over all paths, on random flow graphs.
#include "simulator/image/dominance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace cudasim::image {
namespace {

using Graph = std::vector<std::vector<BlockNumber>>;

Graph reversed(const Graph& graph) {
    Graph result(graph.size());
    for (BlockNumber from = 0; from < graph.size(); ++from) {
        for (BlockNumber to : graph[from]) result[to].push_back(from);
    }
    return result;
}

void visit(const Graph& successors, BlockNumber block, std::vector<bool>& seen,
           std::vector<BlockNumber>& order) {
    seen[block] = true;
    for (BlockNumber next : successors[block]) {
        if (!seen[next]) visit(successors, next, seen, order);
    }
    order.push_back(block);
}

struct Flow {
    Graph successors, predecessors;
    std::vector<BlockNumber> order;
};

/// Some blocks are not reached; predecessors and order are of those that are.
Flow random_flow(std::mt19937& random, std::size_t blocks) {
    Flow flow{Graph(blocks), {}, {}};
    for (auto& targets : flow.successors) {
        for (unsigned edges = random() % 3; edges > 0; --edges)
            targets.push_back(static_cast<BlockNumber>(1 + random() % (blocks - 1)));  // not the entry
    }
    std::vector<bool> seen(blocks, false);
    visit(flow.successors, 0, seen, flow.order);
    std::ranges::reverse(flow.order);
    for (BlockNumber block = 0; block < blocks; ++block) {
        if (!seen[block]) flow.successors[block].clear();
    }
    flow.predecessors = reversed(flow.successors);
    return flow;
}

constexpr BlockNumber unassigned = no_block;

/// The blocks whose assignment may be the last one before the end of `block`.
std::set<BlockNumber> reaching_by_paths(const Flow& flow, const std::vector<BlockNumber>& assigned,
                                        BlockNumber block) {
    std::set<BlockNumber> found, seen{block};
    std::vector<BlockNumber> work{block};
    while (!work.empty()) {
        const BlockNumber at = work.back();
        work.pop_back();
        if (std::ranges::count(assigned, at)) {
            found.insert(at);
            continue;
        }
        if (at == flow.order[0]) found.insert(unassigned);
        for (BlockNumber before : flow.predecessors[at]) {
            if (seen.insert(before).second) work.push_back(before);
        }
    }
    return found;
}

/// The same from Definitions: the assignments behind joins, and behind the joins before those.
std::set<BlockNumber> reaching_by_joins(const Flow& flow, const Definitions& definitions, BlockNumber block) {
    std::set<BlockNumber> found, joins;
    std::vector<Definitions::Reaching> work{definitions.at_end(block)};
    while (!work.empty()) {
        const auto [at, is_join] = work.back();
        work.pop_back();
        if (!is_join) {
            found.insert(at);
            continue;
        }
        if (!joins.insert(at).second) continue;
        EXPECT_TRUE(definitions.at_begin(at).is_join && definitions.at_begin(at).block == at);
        for (BlockNumber before : flow.predecessors[at]) work.push_back(definitions.at_end(before));
    }
    return found;
}

TEST(Dominance, finds_the_assignments_that_reach_each_block_of_random_graphs) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        const Flow flow = random_flow(random, 2 + random() % 30);
        const Dominance dominance(flow.order, flow.predecessors);
        std::vector<BlockNumber> assigned;
        for (BlockNumber block : flow.order) {
            if (random() % 4 == 0) assigned.push_back(block);
        }
        const Definitions definitions(dominance, assigned);
        for (BlockNumber block : flow.order) {
            ASSERT_EQ(reaching_by_joins(flow, definitions, block), reaching_by_paths(flow, assigned, block))
                << "round " << round << ", block " << block;
        }
    }
}

TEST(Dominance, a_variable_is_joined_only_where_several_assignments_meet) {
    // 0 → 1, 2; both → 3; 3 → 4, 5; both → 6. Assigned in 0 and 1: one join, in 3,
    // seen through the second branch.
    const Graph predecessors{{}, {0}, {0}, {1, 2}, {3}, {3}, {4, 5}};
    const Dominance dominance({0, 1, 2, 3, 4, 5, 6}, predecessors);
    const Definitions definitions(dominance, {0, 1});
    EXPECT_EQ(definitions.at_begin(6).block, 3u);
    EXPECT_TRUE(definitions.at_begin(6).is_join);
    EXPECT_EQ(definitions.at_begin(3).block, 3u);
    EXPECT_EQ(definitions.at_end(2).block, 0u);
    EXPECT_FALSE(definitions.at_end(1).is_join);
    EXPECT_EQ(definitions.at_begin(0).block, no_block);
}

}  // namespace
}  // namespace cudasim::image
