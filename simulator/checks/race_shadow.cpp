// See race_shadow.h.
#include "simulator/checks/race_shadow.h"

#include <sys/mman.h>

#include <iterator>

namespace cudasim::checks {

namespace {

constexpr std::uint64_t cell_bytes_per_byte = sizeof(Cell) / word_bytes;

}  // namespace

RaceShadow::RaceShadow(std::uint64_t low, std::uint64_t bytes) : low_(low) {
    if (bytes == 0) return;
    void* base = mmap(nullptr, bytes * cell_bytes_per_byte, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return;
    madvise(base, bytes * cell_bytes_per_byte, MADV_DONTDUMP);
    // A kernel touches eight times as many bytes here as in its memory: small pages would cost a third more.
    madvise(base, bytes * cell_bytes_per_byte, MADV_HUGEPAGE);
    cells_ = static_cast<Cell*>(base);
    bytes_ = bytes;
}

RaceShadow::~RaceShadow() {
    if (cells_ != nullptr) munmap(cells_, bytes_ * cell_bytes_per_byte);
}

void RaceShadow::add_range(std::uint64_t address, std::uint64_t bytes) {
    if (address - low_ < bytes_ || bytes == 0) return;
    remove_range(address, bytes);
    ranges_[address] = bytes;
}

void RaceShadow::remove_range(std::uint64_t address, std::uint64_t bytes) {
    auto range = ranges_.upper_bound(address);
    if (range != ranges_.begin()) --range;
    while (range != ranges_.end() && range->first < address + bytes) {
        const auto next = std::next(range);
        if (range->first + range->second > address) forget_range(range);
        range = next;
    }
}

void RaceShadow::remove_range(std::uint64_t address) {
    const auto range = ranges_.find(address);
    if (range != ranges_.end()) forget_range(range);
}

void RaceShadow::forget_range(std::map<std::uint64_t, std::uint64_t>::iterator range) {
    const std::uint64_t first = range->first & ~std::uint64_t{word_bytes - 1},
                        end = range->first + range->second;
    if ((end - first) / word_bytes < elsewhere_.size()) {
        for (std::uint64_t word = first; word < end; word += word_bytes) elsewhere_.erase(word);
    } else {
        std::erase_if(elsewhere_, [&](const auto& each) { return each.first - first < end - first; });
    }
    std::erase_if(crowded_, [&](const auto& each) { return each.first - first < end - first; });
    ranges_.erase(range);
}

bool RaceShadow::covers_elsewhere(std::uint64_t address) const {
    const auto behind = ranges_.upper_bound(address);
    if (behind == ranges_.begin()) return false;
    const auto range = std::prev(behind);
    return address - range->first < range->second;
}

const Cell* RaceShadow::find_cell(std::uint64_t word) const {
    if (word - low_ < bytes_) return &cells_[(word - low_) / word_bytes];
    const auto found = elsewhere_.find(word);
    return found == elsewhere_.end() ? nullptr : &found->second;
}

CrowdedWord* RaceShadow::find_crowd(std::uint64_t word) {
    const auto found = crowded_.find(word);
    return found == crowded_.end() ? nullptr : &found->second;
}

void RaceShadow::forget() {
    crowded_.clear();
    elsewhere_.clear();
    if (cells_ != nullptr) madvise(cells_, bytes_ * cell_bytes_per_byte, MADV_DONTNEED);
}

}  // namespace cudasim::checks
