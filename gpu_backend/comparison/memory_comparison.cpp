// compare_bytes(), compare_outside(): memory byte by byte.

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "gpu_backend/comparison/comparison.h"
#include "gpu_backend/comparison/traversal.h"

namespace cudasim::comparison {
namespace {

using Contents = std::span<const std::byte>;

constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t most_bytes_of_run = 16;

/// Which bytes of a range belong to elements. Arrays in one piece are intervals, others are marked byte by
/// byte.
class Covered {
  public:
    Covered(std::span<const ArrayView> views, std::uint64_t bytes) : bytes_(bytes) {
        for (const ArrayView& view : views) {
            Traversal& traversal = traversals_.emplace_back(view, bytes);
            sizes_.push_back(view.type.bytes);
            if (traversal.elements() == 0 || view.type.bytes == 0) continue;
            if (traversal.contiguous_from(0) != traversal.elements()) continue;
            const std::uint64_t begin = traversal.offset_of(0);
            whole_.emplace_back(begin, begin + traversal.elements() * view.type.bytes);
        }
        std::ranges::sort(whole_);
    }

    /// Ranges that no array in one piece covers.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps() const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
        std::uint64_t at = 0;
        for (const auto& [begin, end] : whole_) {
            if (begin > at) gaps.emplace_back(at, begin);
            at = std::max(at, end);
        }
        if (at < bytes_) gaps.emplace_back(at, bytes_);
        return gaps;
    }

    [[nodiscard]] bool contains(std::uint64_t byte) {
        if (marks_.empty()) mark();
        return marks_[byte];
    }

  private:
    void mark() {
        marks_.resize(bytes_);
        for (std::size_t i = 0; i < traversals_.size(); ++i) {
            const Traversal& traversal = traversals_[i];
            for (std::uint64_t element = 0; element < traversal.elements();) {
                const std::uint64_t run = traversal.contiguous_from(element);
                const auto begin = marks_.begin() + static_cast<std::ptrdiff_t>(traversal.offset_of(element));
                std::fill(begin, begin + static_cast<std::ptrdiff_t>(run * sizes_[i]), true);
                element += run;
            }
        }
    }

    std::uint64_t bytes_;
    std::vector<Traversal> traversals_;
    std::vector<std::uint64_t> sizes_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> whole_;
    std::vector<bool> marks_;
};

class BytesComparer {
  public:
    BytesComparer(std::string label, std::uint64_t address, Contents simulated, Contents gpu,
                  const Limits& limits)
        : simulated_(simulated), gpu_(gpu), limits_(limits) {
        if (simulated.size() != gpu.size())
            throw std::invalid_argument("memory of " + label + " cannot be compared: it has " +
                                        std::to_string(simulated.size()) + " bytes on the simulator and " +
                                        std::to_string(gpu.size()) + " on the GPU");
        result_.label = std::move(label);
        result_.address = address;
    }

    /// @param is_covered tells of a byte that differs whether it is left out
    template <class IsCovered>
    void add(std::uint64_t begin, std::uint64_t end, IsCovered is_covered) {
        for (std::uint64_t block = begin; block < end; block += block_bytes) {
            const std::uint64_t size = std::min(block_bytes, end - block);
            if (std::memcmp(simulated_.data() + block, gpu_.data() + block, size) == 0) continue;
            for (std::uint64_t at = block; at < block + size; ++at)
                if (simulated_[at] != gpu_[at] && !is_covered(at)) add_byte(at);
        }
    }

    BytesComparison result(std::uint64_t compared) {
        result_.bytes = compared;
        return std::move(result_);
    }

  private:
    void add_byte(std::uint64_t at) {
        ++result_.differing;
        const bool continues = result_.runs != 0 && at == next_;
        next_ = at + 1;
        if (!continues) {
            ++result_.runs;
            if (result_.first.size() < limits_.runs)
                result_.first.push_back({.address = result_.address + at});
        }
        if (result_.runs != result_.first.size()) return;
        ByteRun& run = result_.first.back();
        if (run.bytes++ >= most_bytes_of_run) return;
        run.simulated.push_back(simulated_[at]);
        run.gpu.push_back(gpu_[at]);
    }

    Contents simulated_, gpu_;
    const Limits& limits_;
    BytesComparison result_;
    std::uint64_t next_ = 0;  ///< behind the byte that differed last
};

}  // namespace

BytesComparison compare_bytes(std::string label, std::uint64_t address, Contents simulated, Contents gpu,
                              const Limits& limits) {
    BytesComparer comparer(std::move(label), address, simulated, gpu, limits);
    comparer.add(0, simulated.size(), [](std::uint64_t) { return false; });
    return comparer.result(simulated.size());
}

BytesComparison compare_outside(std::string label, std::uint64_t address, std::span<const ArrayView> views,
                                Contents simulated, Contents gpu, const Limits& limits) {
    BytesComparer comparer(std::move(label), address, simulated, gpu, limits);
    Covered covered(views, simulated.size());
    std::uint64_t compared = 0;
    for (const auto& [begin, end] : covered.gaps()) {
        compared += end - begin;
        comparer.add(begin, end, [&](std::uint64_t at) { return covered.contains(at); });
    }
    return comparer.result(compared);
}

}  // namespace cudasim::comparison
