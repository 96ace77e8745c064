// Seeded orders for the random policy (E6). The same seed gives the same order on every machine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace cudasim::execution {

/// splitmix64: a good generator in one line of state (Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", 2014).
class RandomNumbers {
  public:
    explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t bits = state_ += 0x9E3779B97F4A7C15ULL;
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
        return bits ^ (bits >> 31);
    }
    template <typename T>
    void shuffle(std::vector<T>& items) {
        for (std::size_t left = items.size(); left > 1; --left)
            std::swap(items[left - 1], items[next() % left]);
    }

  private:
    std::uint64_t state_;
};

/// A permutation of [0, count) that needs no memory: a Feistel network on the next power of four, applied
/// again while it leads outside.
class RandomOrder {
  public:
    RandomOrder() = default;
    RandomOrder(std::uint64_t seed, std::uint64_t count) : seed_(seed), count_(count) {
        while (half_bits_ < 32 && std::uint64_t{1} << (2 * half_bits_) < count) ++half_bits_;
    }
    [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const {
        if (count_ < 2) return index;
        do index = once(index);
        while (index >= count_);
        return index;
    }

    /// The index for which operator() gives this.
    [[nodiscard]] std::uint64_t index_of(std::uint64_t value) const {
        if (count_ < 2) return value;
        do value = back(value);
        while (value >= count_);
        return value;
    }

  private:
    static constexpr std::uint64_t rounds = 4;
    [[nodiscard]] std::uint64_t mask() const { return (std::uint64_t{1} << half_bits_) - 1; }
    [[nodiscard]] std::uint64_t mixed(std::uint64_t round, std::uint64_t half) const {
        return RandomNumbers(seed_ ^ (round << 56) ^ half).next() & mask();
    }
    [[nodiscard]] std::uint64_t once(std::uint64_t index) const {
        std::uint64_t left = index >> half_bits_, right = index & mask();
        for (std::uint64_t round = 0; round < rounds; ++round)
            left = std::exchange(right, left ^ mixed(round, right));
        return left << half_bits_ | right;
    }
    [[nodiscard]] std::uint64_t back(std::uint64_t value) const {
        std::uint64_t left = value >> half_bits_, right = value & mask();
        for (std::uint64_t round = rounds; round-- > 0;)
            right = std::exchange(left, right ^ mixed(round, left));
        return left << half_bits_ | right;
    }

    std::uint64_t seed_ = 0, count_ = 0;
    unsigned half_bits_ = 1;
};

}  // namespace cudasim::execution
