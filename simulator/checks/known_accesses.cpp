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

/// A copy of the node. All children have one more reference than before.
Inner* copy_of(const Inner& node) {
    auto* copy = new Inner(node);
    copy->references = 1;
    for (KnownNode* child : copy->children) retain(child);
    return copy;
}

/// A new reference. Both are of one level. Children that stay are not touched unless a node is made, because
/// most are not in the processor's cache.
KnownNode* join_nodes(KnownNode* a, KnownNode* b) {
    if (a == b || b == nullptr) return retain(a);
    if (a == nullptr) return retain(b);
    if (a->level == 0) return join_leaves(static_cast<Leaf*>(a), static_cast<Leaf*>(b));
    const auto& left = static_cast<Inner*>(a)->children;
    const auto& right = static_cast<Inner*>(b)->children;
    std::array<KnownNode*, detail::digits> joined{};  // where both have something else
    bool is_a = true, is_b = true;
    for (std::size_t each = 0; each < joined.size(); ++each) {
        if (left[each] == right[each]) continue;
        if (left[each] != nullptr && right[each] != nullptr) {
            joined[each] = join_nodes(left[each], right[each]);
            is_a = is_a && joined[each] == left[each];
            is_b = is_b && joined[each] == right[each];
        } else {
            (left[each] == nullptr ? is_a : is_b) = false;
        }
    }
    if (is_a || is_b) {
        for (KnownNode* child : joined) release(child);
        return retain(is_a ? a : b);
    }
    auto* made = new Inner;
    made->level = a->level;
    for (std::size_t each = 0; each < joined.size(); ++each)
        made->children[each] = joined[each] != nullptr ? joined[each]
                               : left[each] != nullptr ? retain(left[each])
                                                       : retain(right[each]);
    return made;
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

/// The tree with what the leaf knows of a block, too. Takes over both references. Nodes that nobody else has
/// are changed.
KnownNode* insert(KnownNode* node, std::uint32_t level, std::uint64_t block, Leaf* leaf) {
    if (node == nullptr) return path_to(leaf, block, level);
    if (level == 0) {
        KnownNode* joined = join_leaves(static_cast<Leaf*>(node), leaf);
        release(node);
        release(leaf);
        return joined;
    }
    const std::size_t at = digit(block, level);
    auto* inner = static_cast<Inner*>(node);
    if (inner->references != 1) {
        inner = copy_of(*inner);
        release(node);
    }
    inner->children[at] = insert(inner->children[at], level - 1, block, leaf);
    return inner;
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

void KnownAccesses::add_block(std::uint64_t block, std::uint32_t epoch, Threads threads) {
    auto* leaf = new Leaf;
    leaf->all = epoch;
    leaf->threads = std::move(threads);
    const std::uint32_t level = std::max(level_for(block), root_ != nullptr ? root_->level : 0);
    root_ = insert(raise(root_, level), level, block, leaf);
}

void KnownAccesses::add_thread(std::uint64_t block, std::uint32_t thread, std::uint32_t epoch) {
    add_threads(block, {{static_cast<std::uint16_t>(thread), epoch}});
}

void KnownAccesses::add_threads(std::uint64_t block, Threads threads) {
    if (!threads.empty()) add_block(block, 0, std::move(threads));
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
