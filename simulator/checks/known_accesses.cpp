// See known_accesses.h: the tree.
#include "simulator/checks/known_accesses.h"

#include <algorithm>
#include <array>

namespace cudasim::checks {

namespace detail {

constexpr unsigned digit_bits = 4;
constexpr unsigned digits = 1U << digit_bits;

/// A leaf (level 0) or an inner node. A node of level n covers blocks with equal numbers above their lowest
/// n digits; the root has the lowest level that covers all blocks of the tree, which begins at block 0.
struct KnownNode {
    std::uint32_t references = 1;
    std::uint32_t level = 0;
};

using Threads = std::vector<std::pair<std::uint16_t, std::uint32_t>>;

struct Leaf : KnownNode {
    std::uint32_t all = 0;  ///< up to this epoch all threads
    Threads threads;        ///< later ones of single threads, ascending
};

struct Inner : KnownNode {
    std::array<KnownNode*, digits> children{};
};

}  // namespace detail

using detail::digit_bits;
using detail::Inner;
using detail::KnownNode;
using detail::Leaf;
using detail::Threads;

namespace {

KnownNode* retain(KnownNode* node) {
    if (node != nullptr) ++node->references;
    return node;
}

void release(KnownNode* node) {
    if (node == nullptr || --node->references != 0) return;
    if (node->level == 0) {
        delete static_cast<Leaf*>(node);
        return;
    }
    auto* inner = static_cast<Inner*>(node);
    for (KnownNode* child : inner->children) release(child);
    delete inner;
}

std::size_t digit(std::uint64_t block, std::uint32_t level) {
    return static_cast<std::size_t>(block >> (digit_bits * (level - 1))) & (detail::digits - 1);
}

std::uint32_t level_for(std::uint64_t block) {
    std::uint32_t level = 0;
    for (; block != 0; block >>= digit_bits) ++level;
    return level;
}

/// A tree of that level, at least its own, with the same contents. Takes over the reference.
KnownNode* raise(KnownNode* node, std::uint32_t level) {
    while (node != nullptr && node->level < level) {
        auto* inner = new Inner;
        inner->level = node->level + 1;
        inner->children[0] = node;
        node = inner;
    }
    return node;
}

/// Whether a knows everything that b knows.
bool covers(const Leaf& a, const Leaf& b) {
    if (a.all < b.all) return false;
    auto known = a.threads.begin();
    for (const auto& [thread, epoch] : b.threads) {
        if (epoch <= a.all) continue;
        while (known != a.threads.end() && known->first < thread) ++known;
        if (known == a.threads.end() || known->first != thread || known->second < epoch) return false;
    }
    return true;
}

KnownNode* join_leaves(Leaf* a, Leaf* b) {
    if (covers(*a, *b)) return retain(a);
    if (covers(*b, *a)) return retain(b);
    auto* joined = new Leaf;
    joined->all = std::max(a->all, b->all);
    joined->threads.reserve(a->threads.size() + b->threads.size());
    auto left = a->threads.begin(), right = b->threads.begin();
    while (left != a->threads.end() || right != b->threads.end()) {
        std::pair<std::uint16_t, std::uint32_t> next;
        if (right == b->threads.end() || (left != a->threads.end() && left->first < right->first)) {
            next = *left++;
        } else if (left == a->threads.end() || right->first < left->first) {
            next = *right++;
        } else {
            next = {left->first, std::max(left->second, right->second)};
            ++left, ++right;
        }
        if (next.second > joined->all) joined->threads.push_back(next);
    }
    return joined;
}

/// A new reference. Both are of one level.
KnownNode* join_nodes(KnownNode* a, KnownNode* b) {
    if (a == b || b == nullptr) return retain(a);
    if (a == nullptr) return retain(b);
    if (a->level == 0) return join_leaves(static_cast<Leaf*>(a), static_cast<Leaf*>(b));
    const auto& left = static_cast<Inner*>(a)->children;
    const auto& right = static_cast<Inner*>(b)->children;
    std::array<KnownNode*, detail::digits> children;
    bool is_a = true, is_b = true;
    for (std::size_t each = 0; each < children.size(); ++each) {
        children[each] = join_nodes(left[each], right[each]);
        is_a = is_a && children[each] == left[each];
        is_b = is_b && children[each] == right[each];
    }
    if (is_a || is_b) {
        for (KnownNode* child : children) release(child);
        return retain(is_a ? a : b);
    }
    auto* joined = new Inner;
    joined->level = a->level;
    joined->children = children;
    return joined;
}

/// A tree of the level with one leaf. Takes over the reference.
KnownNode* path_to(Leaf* leaf, std::uint64_t block, std::uint32_t level) {
    KnownNode* node = leaf;
    for (std::uint32_t each = 1; each <= level; ++each) {
        auto* inner = new Inner;
        inner->level = each;
        inner->children[digit(block, each)] = node;
        node = inner;
    }
    return node;
}

}  // namespace

KnownAccesses::KnownAccesses(const KnownAccesses& other) : root_(retain(other.root_)) {}

KnownAccesses::~KnownAccesses() {
    release(root_);
}

bool KnownAccesses::contains(std::uint64_t block, std::uint32_t thread, std::uint32_t epoch) const {
    const KnownNode* node = root_;
    if (node == nullptr || (node->level * digit_bits < 64 && block >> (node->level * digit_bits) != 0))
        return false;
    while (node != nullptr && node->level != 0)
        node = static_cast<const Inner*>(node)->children[digit(block, node->level)];
    if (node == nullptr) return false;
    const auto& leaf = *static_cast<const Leaf*>(node);
    if (epoch <= leaf.all) return true;
    const auto known = std::ranges::lower_bound(leaf.threads, thread, {}, &Threads::value_type::first);
    return known != leaf.threads.end() && known->first == thread && epoch <= known->second;
}

void KnownAccesses::add_block(std::uint64_t block, std::uint32_t epoch) {
    auto* leaf = new Leaf;
    leaf->all = epoch;
    join(KnownAccesses(path_to(leaf, block, level_for(block))));
}

void KnownAccesses::add_thread(std::uint64_t block, std::uint32_t thread, std::uint32_t epoch) {
    add_threads(block, {{static_cast<std::uint16_t>(thread), epoch}});
}

void KnownAccesses::add_threads(std::uint64_t block, Threads threads) {
    if (threads.empty()) return;
    auto* leaf = new Leaf;
    leaf->threads = std::move(threads);
    join(KnownAccesses(path_to(leaf, block, level_for(block))));
}

void KnownAccesses::join(const KnownAccesses& other) {
    if (other.root_ == nullptr || other.root_ == root_) return;
    if (root_ == nullptr) {
        root_ = retain(other.root_);
        return;
    }
    const std::uint32_t level = std::max(root_->level, other.root_->level);
    root_ = raise(root_, level);
    KnownNode* right = raise(retain(other.root_), level);
    KnownNode* joined = join_nodes(root_, right);
    release(right);
    release(root_);
    root_ = joined;
}

}  // namespace cudasim::checks
