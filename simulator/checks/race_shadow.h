// The cells of all memory in which threads can race: device memory, shared memory of blocks, and memory of
// the host that kernels may use.
//
// Addresses of a window have their cells in one array, in order, so that compiled code finds a cell by one
// shift. The array is reserved address space: pages come with the first access. Words elsewhere, and
// everything where no window could be reserved (`ulimit -v`), are found by a hash table.
//
// A cell has room for two readers, one writer and one atomic access. What it cannot hold goes to a table of
// crowded words: bytes of one word that belong to several threads, and more than two readers in kernels
// where no two stand for all.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "simulator/checks/race_records.h"

namespace cudasim::checks {

enum class AccessClass : std::uint8_t { read, write, atomic };

struct CrowdedAccess {
    Record record = 0;
    AccessClass kind = AccessClass::read;
};

/// Further accesses to a word, besides those in its cell.
struct CrowdedWord {
    std::vector<CrowdedAccess> accesses;
    std::size_t clean_up_at = 16;  ///< when there are so many, those that stand for nothing are removed
    // The threads of one epoch that have an entry as readers of the whole word.
    std::uint32_t readers_epoch = 0;
    std::array<std::uint64_t, (thread_mask + 1) / 64> readers{};
};

class RaceShadow {
  public:
    /// @param low, bytes the window, multiples of a page
    RaceShadow(std::uint64_t low, std::uint64_t bytes);
    ~RaceShadow();
    RaceShadow(const RaceShadow&) = delete;
    RaceShadow& operator=(const RaceShadow&) = delete;

    /// What BlockFloors has: no bytes where the window could not be reserved.
    [[nodiscard]] Cell* cells() const { return cells_; }
    [[nodiscard]] std::uint64_t low() const { return low_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

    /// Memory outside of the window in which threads can race from now on; nobody has accessed it yet.
    void add_range(std::uint64_t address, std::uint64_t bytes);
    /// It is something else from now on: local memory, or nothing.
    void remove_range(std::uint64_t address, std::uint64_t bytes);
    /// Forgets the range that begins there.
    void remove_range(std::uint64_t address);

    /// Whether threads can race there at all: it is no local memory.
    [[nodiscard]] bool covers(std::uint64_t address) const {
        return address - low_ < bytes_ || covers_elsewhere(address);
    }
    /// The cell of the word at an address that is covered, a multiple of word_bytes.
    [[nodiscard]] Cell& cell(std::uint64_t word) {
        return word - low_ < bytes_ ? cells_[(word - low_) / word_bytes] : elsewhere_[word];
    }
    /// The same for a word that nobody may have accessed; nullptr where that is known.
    [[nodiscard]] const Cell* find_cell(std::uint64_t word) const;
    [[nodiscard]] CrowdedWord& crowd(std::uint64_t word) { return crowded_[word]; }
    /// nullptr where there is none.
    [[nodiscard]] CrowdedWord* find_crowd(std::uint64_t word);

    /// All crowded words are forgotten: their records are old.
    void forget_crowds() { crowded_.clear(); }
    /// All records are: epochs begin anew.
    void forget();

  private:
    [[nodiscard]] bool covers_elsewhere(std::uint64_t address) const;
    void forget_range(std::map<std::uint64_t, std::uint64_t>::iterator range);

    Cell* cells_ = nullptr;
    std::uint64_t low_ = 0, bytes_ = 0;
    std::map<std::uint64_t, std::uint64_t> ranges_;  ///< first address → bytes, none overlapping
    std::unordered_map<std::uint64_t, Cell> elsewhere_;
    std::unordered_map<std::uint64_t, CrowdedWord> crowded_;
};

}  // namespace cudasim::checks
