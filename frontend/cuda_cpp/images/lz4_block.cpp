// See lz4_block.h. A block is a sequence of: a token, literals, and a match, which repeats what was written
// before. The token's upper half is the number of literals, its lower half the length of the match less 4; 15
// means that bytes follow which are added, up to one that is not 255. Behind the literals stands the distance
// of the match in 2 bytes. The last sequence has no match.
#include "frontend/cuda_cpp/images/lz4_block.h"

#include <cstdint>
#include <cstring>

namespace cudasim::cuda_cpp {
namespace {

constexpr unsigned extended = 15, least_match = 4;

class Block {
  public:
    Block(std::span<const std::byte> from, std::span<char> to) : from_(from), to_(to) {}

    std::optional<std::size_t> run() {
        while (true) {
            const auto token = byte();
            if (!token || !copy_literals(*token >> 4)) return {};
            if (read_ == from_.size()) return written_;
            if (!copy_match(*token & 15)) return {};
        }
    }

  private:
    std::optional<unsigned> byte() {
        if (read_ == from_.size()) return {};
        return std::to_integer<unsigned>(from_[read_++]);
    }

    std::optional<std::size_t> length(unsigned first) {
        std::size_t sum = first;
        if (first != extended) return sum;
        while (true) {
            const auto more = byte();
            if (!more) return {};
            sum += *more;
            if (*more != 255) return sum;
        }
    }

    bool copy_literals(unsigned first) {
        const auto count = length(first);
        if (!count || *count > from_.size() - read_ || *count > to_.size() - written_) return false;
        if (*count != 0) std::memcpy(&to_[written_], &from_[read_], *count);
        read_ += *count, written_ += *count;
        return true;
    }

    bool copy_match(unsigned first) {
        const auto low = byte(), high = byte();
        if (!low || !high) return false;
        const std::size_t distance = *low | *high << 8;
        const auto more = length(first);
        if (!more || distance == 0 || distance > written_) return false;
        const std::size_t count = *more + least_match;
        if (count > to_.size() - written_) return false;
        // A match may go on into what it writes: byte after byte.
        for (std::size_t i = 0; i < count; ++i, ++written_) to_[written_] = to_[written_ - distance];
        return true;
    }

    std::span<const std::byte> from_;
    std::span<char> to_;
    std::size_t read_ = 0, written_ = 0;
};

}  // namespace

std::optional<std::size_t> decompressed_lz4(std::span<const std::byte> block, std::span<char> target) {
    return Block(block, target).run();
}

}  // namespace cudasim::cuda_cpp
