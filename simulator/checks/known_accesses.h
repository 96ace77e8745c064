// Which accesses of other threads a thread knows to be over: a vector clock, as a value that is shared as
// long as nobody changes it.
//
// Conceptually a map: block → the epoch up to which all accesses of its threads are known, and for single
// threads of the block an epoch that may be later. It is a tree over the digits of the block's number, whose
// nodes never change once they are made. Copying is a pointer. What is joined mostly has a common history,
// and parts that are the same object need not be looked at, so a chain of n releases costs n log n, where
// copied vectors would cost n².
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace cudasim::checks {

namespace detail {
struct KnownNode;
}

class KnownAccesses {
  public:
    KnownAccesses() = default;
    KnownAccesses(const KnownAccesses& other);
    KnownAccesses(KnownAccesses&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
    KnownAccesses& operator=(KnownAccesses other) noexcept {
        std::swap(root_, other.root_);
        return *this;
    }
    ~KnownAccesses();

    [[nodiscard]] bool empty() const { return root_ == nullptr; }

    /// Whether the thread's accesses of that epoch are known.
    [[nodiscard]] bool contains(std::uint64_t block, std::uint32_t thread, std::uint32_t epoch) const;

    /// All accesses of the block's threads up to that epoch, and those of some of them up to later ones:
    /// pairs (thread, epoch), ascending threads.
    void add_block(std::uint64_t block, std::uint32_t epoch,
                   std::vector<std::pair<std::uint16_t, std::uint32_t>> threads = {});
    /// All accesses of the thread up to that epoch.
    void add_thread(std::uint64_t block, std::uint32_t thread, std::uint32_t epoch);
    /// The same for several of a block: pairs (thread, epoch), ascending threads.
    void add_threads(std::uint64_t block, std::vector<std::pair<std::uint16_t, std::uint32_t>> threads);
    /// What the other one knows, too.
    void join(const KnownAccesses& other);

  private:
    explicit KnownAccesses(detail::KnownNode* root) : root_(root) {}
    detail::KnownNode* root_ = nullptr;  ///< owned: counted references, of one host thread
};

}  // namespace cudasim::checks
