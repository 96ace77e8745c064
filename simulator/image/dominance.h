// Which assignment of a variable reaches a place in a flow graph (static single assignment form), in a time
// that grows with the assignments and reads of the variable, not with the blocks between them.
//
// Blocks are numbers. A block has a join of a variable where several of its assignments can arrive: in the
// iterated dominance frontier of the assignments (Cytron et al., TOPLAS 13(4), 1991). Joins are found for all
// blocks, whether something reads the variable there or not: who asks makes only those that are needed.
#pragma once

#include <cstdint>
#include <vector>

namespace cudasim::image {

using BlockNumber = std::uint32_t;
inline constexpr BlockNumber no_block = 0xFFFF'FFFF;

/// The dominator tree of a flow graph and the dominance frontiers of its blocks.
class Dominance {
  public:
    /// order: the blocks that are reached, the entry first, in reverse postorder. predecessors: by
    /// block, those that are reached.
    Dominance(const std::vector<BlockNumber>& order,
              const std::vector<std::vector<BlockNumber>>& predecessors);

    /// The immediate dominator; no_block for the entry.
    [[nodiscard]] BlockNumber parent(BlockNumber block) const { return nodes_[block].parent; }
    /// Where the block stands in a preorder walk of the dominator tree, and the last block below it.
    [[nodiscard]] std::uint32_t first(BlockNumber block) const { return nodes_[block].first; }
    [[nodiscard]] std::uint32_t last(BlockNumber block) const { return nodes_[block].last; }
    [[nodiscard]] const std::vector<BlockNumber>& frontier(BlockNumber block) const {
        return nodes_[block].frontier;
    }

  private:
    struct Node {
        BlockNumber parent = no_block;
        std::uint32_t first = 0, last = 0;
        std::vector<BlockNumber> frontier;
    };

    void find_parents(const std::vector<BlockNumber>& order,
                      const std::vector<std::vector<BlockNumber>>& predecessors);
    void number(const std::vector<BlockNumber>& order);
    void find_frontiers(const std::vector<BlockNumber>& order,
                        const std::vector<std::vector<BlockNumber>>& predecessors);

    std::vector<Node> nodes_;  ///< by block
};

/// Where one variable gets its values.
class Definitions {
  public:
    /// What reaches a place: the join at the beginning of a block, or the last assignment in it. no_block:
    /// nothing, no path has assigned the variable.
    struct Reaching {
        BlockNumber block = no_block;
        bool is_join = false;
    };

    /// assigned: the blocks that assign the variable. `dominance` outlives this.
    Definitions(const Dominance& dominance, const std::vector<BlockNumber>& assigned);

    [[nodiscard]] Reaching at_begin(BlockNumber block) const;
    [[nodiscard]] Reaching at_end(BlockNumber block) const;

  private:
    struct Point {
        BlockNumber block;
        bool joins, assigns;
        std::size_t above;  ///< the nearest point that dominates it; own number: none
    };

    [[nodiscard]] const Point* nearest(BlockNumber block) const;

    const Dominance* dominance_;
    std::vector<Point> points_;  ///< in preorder of the dominator tree
};

}  // namespace cudasim::image
