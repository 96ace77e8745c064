// See dominance.h. Dominators and frontiers after Cooper, Harvey and Kennedy, "A
// Simple, Fast Dominance Algorithm".
#include "simulator/image/dominance.h"

#include <algorithm>
#include <map>

namespace cudasim::image {

Dominance::Dominance(const std::vector<BlockNumber>& order,
                     const std::vector<std::vector<BlockNumber>>& predecessors)
    : nodes_(predecessors.size()) {
    find_parents(order, predecessors);
    number(order);
    find_frontiers(order, predecessors);
}

void Dominance::find_parents(const std::vector<BlockNumber>& order,
                             const std::vector<std::vector<BlockNumber>>& predecessors) {
    std::vector<std::uint32_t> place(predecessors.size(), no_block);
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    const auto common = [&](BlockNumber a, BlockNumber b) {
        while (a != b) {
            if (place[a] > place[b])
                a = nodes_[a].parent;
            else
                b = nodes_[b].parent;
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 1; i < order.size(); ++i) {
            BlockNumber parent = no_block;
            for (BlockNumber predecessor : predecessors[order[i]]) {
                const bool known = predecessor == order[0] || nodes_[predecessor].parent != no_block;
                if (known) parent = parent == no_block ? predecessor : common(parent, predecessor);
            }
            changed |= nodes_[order[i]].parent != parent;
            nodes_[order[i]].parent = parent;
        }
    }
}

void Dominance::number(const std::vector<BlockNumber>& order) {
    // A dominator stands before what it dominates in `order`: sizes of subtrees first, then their places.
    std::vector<std::uint32_t> size(nodes_.size(), 1);
    for (std::size_t i = order.size(); i-- > 1;) size[nodes_[order[i]].parent] += size[order[i]];
    std::vector<std::uint32_t> next(nodes_.size(), 0);  // place of the next child
    for (std::size_t i = 0; i < order.size(); ++i) {
        Node& node = nodes_[order[i]];
        if (i > 0) {
            node.first = next[node.parent];
            next[node.parent] += size[order[i]];
        }
        node.last = node.first + size[order[i]] - 1;
        next[order[i]] = node.first + 1;
    }
}

void Dominance::find_frontiers(const std::vector<BlockNumber>& order,
                               const std::vector<std::vector<BlockNumber>>& predecessors) {
    for (BlockNumber join : order) {
        for (BlockNumber predecessor : predecessors[join]) {
            for (BlockNumber block = predecessor; block != nodes_[join].parent;
                 block = nodes_[block].parent) {
                auto& frontier = nodes_[block].frontier;
                if (!frontier.empty() && frontier.back() == join) break;  // and so have all above it
                frontier.push_back(join);
            }
        }
    }
}

Definitions::Definitions(const Dominance& dominance, const std::vector<BlockNumber>& assigned)
    : dominance_(&dominance) {
    std::map<std::uint32_t, Point> found;
    std::vector<BlockNumber> work;
    const auto point = [&](BlockNumber block) -> Point& {
        const auto [place, fresh] = found.try_emplace(dominance.first(block), Point{block, false, false, 0});
        if (fresh) work.push_back(block);
        return place->second;
    };
    for (BlockNumber block : assigned) point(block).assigns = true;
    while (!work.empty()) {
        const BlockNumber block = work.back();
        work.pop_back();
        for (BlockNumber join : dominance.frontier(block)) point(join).joins = true;
    }
    std::vector<std::size_t> around;
    for (const auto& [first, each] : found) {
        while (!around.empty() && dominance.last(points_[around.back()].block) < first) around.pop_back();
        points_.push_back(each);
        points_.back().above = around.empty() ? points_.size() - 1 : around.back();
        around.push_back(points_.size() - 1);
    }
}

const Definitions::Point* Definitions::nearest(BlockNumber block) const {
    const std::uint32_t place = dominance_->first(block);
    const auto after = std::ranges::upper_bound(
        points_, place, {}, [&](const Point& each) { return dominance_->first(each.block); });
    if (after == points_.begin()) return nullptr;
    auto number = static_cast<std::size_t>(after - points_.begin()) - 1;
    while (dominance_->last(points_[number].block) < place) {
        if (points_[number].above == number) return nullptr;
        number = points_[number].above;
    }
    return &points_[number];
}

Definitions::Reaching Definitions::at_end(BlockNumber block) const {
    const Point* point = nearest(block);
    return point ? Reaching{point->block, !point->assigns} : Reaching{};
}

Definitions::Reaching Definitions::at_begin(BlockNumber block) const {
    const Point* point = nearest(block);
    if (point && point->block == block && point->joins) return {block, true};
    const BlockNumber parent = dominance_->parent(block);
    return parent == no_block ? Reaching{} : at_end(parent);
}

}  // namespace cudasim::image
