// compare(): an array chunk by chunk. Chunks whose bytes are the same are skipped at the speed of memcmp. The
// others go through the loops of chunk_kernels.h, and where these meet special values, through
// ValueComparer::tally(). Of the greatest differences only the chunk is kept, which is looked at again in the
// end.

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "gpu_backend/comparison/comparison.h"
#include "gpu_backend/comparison/map_builder.h"
#include "gpu_backend/comparison/traversal.h"
#include "gpu_backend/comparison/value_comparer.h"
#include "gpu_backend/comparison/value_text.h"

namespace cudasim::comparison {
namespace {

using Contents = std::span<const std::byte>;

/// A run of contiguous elements that is shorter is copied together with others.
constexpr std::uint64_t shortest_run = 64;
/// Values that are marked together.
constexpr std::size_t block_size = 128;
/// Copied values take up to so many bytes, or one value.
constexpr std::uint64_t most_copied_bytes = 1 << 16;

template <class Unit>
void gather_units(const std::byte* from, std::span<const std::uint64_t> offsets, std::byte* to) {
    for (std::size_t i = 0; i < offsets.size(); ++i)
        std::memcpy(to + i * sizeof(Unit), from + offsets[i], sizeof(Unit));
}

struct Bytes16 {
    std::byte bytes[16];
};

void gather(const std::byte* from, std::span<const std::uint64_t> offsets, std::uint64_t bytes,
            std::byte* to) {
    switch (bytes) {
        case 1:
            return gather_units<std::uint8_t>(from, offsets, to);
        case 2:
            return gather_units<std::uint16_t>(from, offsets, to);
        case 4:
            return gather_units<std::uint32_t>(from, offsets, to);
        case 8:
            return gather_units<std::uint64_t>(from, offsets, to);
        case 16:
            return gather_units<Bytes16>(from, offsets, to);
        default:
            for (const std::uint64_t offset : offsets) {
                std::memcpy(to, from + offset, bytes);
                to += bytes;
            }
    }
}

/// Elements of the traversal, one after another.
struct Chunk {
    std::uint64_t first = 0;
    std::size_t count = 0;
    bool contiguous = false;
    std::uint64_t offset = 0;  ///< of the first, where they are contiguous
};

/// The values of a chunk in the contents of both sides and before.
struct Values {
    const std::byte* simulated = nullptr;
    const std::byte* gpu = nullptr;
    const std::byte* before = nullptr;
};

/// A chunk with a great difference.
struct Candidate {
    double greatest = 0;
    Chunk chunk;
    std::size_t leaf = 0;
    std::uint64_t scalar = 0;
};

class ArrayComparer {
  public:
    ArrayComparer(const ArrayView& view, Contents simulated, Contents gpu, Contents before,
                  const Tolerance& tolerance, const Limits& limits, std::vector<std::uint64_t>* positions)
        : view_(view),
          simulated_(simulated),
          gpu_(gpu),
          before_(before),
          limits_(limits),
          traversal_(view, simulated.size()),
          map_(view, traversal_, limits),
          leaves_(leaves_of(view.type)),
          positions_(positions) {
        std::uint64_t widest = 1;
        for (const Leaf& leaf : leaves_) {
            comparers_.push_back(ValueComparer::make(leaf.type, tolerance));
            widest = std::max(widest, leaf.type.bytes);
        }
        simple_ = leaves_.size() == 1 && leaves_.front().shape.empty();
        longest_chunk_ = std::clamp<std::uint64_t>(most_copied_bytes / widest, 1, chunk_size);
        for (std::vector<std::byte>& copy : copies_) copy.resize(longest_chunk_ * widest);
        result_.name = view.name;
        result_.address = view.address;
        result_.type = name_of(view.type);
        result_.shape = view.shape;
        result_.tolerance = simple_ ? comparers_.front()->tolerance() : tolerance;
        result_.elements = traversal_.elements();
        if (!before.empty()) result_.unchanged_simulated = result_.unchanged_gpu = 0;
    }

    ArrayComparison run() {
        if (!leaves_.empty()) {
            for (std::uint64_t element = 0; element < traversal_.elements();) {
                const Chunk chunk = chunk_at(element);
                const std::uint64_t differing = result_.differing;
                // What follows a difference mostly differs, too, and is not looked at twice.
                if (after_difference_ || !is_same(chunk))
                    simple_ ? compare_simple(chunk) : compare_records(chunk);
                after_difference_ = result_.differing != differing;
                element += chunk.count;
            }
        }
        result_.greatest_absolute = located(absolute_, [](const Outcome& one) { return one.absolute; });
        result_.greatest_relative = located(relative_, [](const Outcome& one) { return one.relative; });
        result_.greatest_ulp = located(ulp_, [](const Outcome& one) { return static_cast<double>(one.ulp); });
        result_.nan_simulated = special_.nan_simulated;
        result_.nan_gpu = special_.nan_gpu;
        result_.nan_bits = special_.nan_bits;
        result_.zero_signs = special_.zero_signs;
        result_.map = map_.result();
        return std::move(result_);
    }

  private:
    Chunk chunk_at(std::uint64_t element) const {
        const std::uint64_t left = std::min(traversal_.elements() - element, longest_chunk_);
        const std::uint64_t run = traversal_.contiguous_from(element);
        const bool contiguous = run >= std::min(shortest_run, left);
        Chunk chunk{
            .first = element, .count = contiguous ? std::min(left, run) : left, .contiguous = contiguous};
        if (contiguous) chunk.offset = traversal_.offset_of(element);
        return chunk;
    }

    bool is_same(const Chunk& chunk) const {
        return chunk.contiguous && std::memcmp(simulated_.data() + chunk.offset, gpu_.data() + chunk.offset,
                                               chunk.count * view_.type.bytes) == 0;
    }

    /// Of one scalar in each element of a chunk. They are where they lie, or copied together.
    Values load(const Chunk& chunk, std::size_t leaf, std::uint64_t scalar) {
        const std::uint64_t bytes = leaves_[leaf].type.bytes;
        const std::uint64_t inside = leaves_[leaf].offset + scalar * bytes;
        const bool has_before = !before_.empty();
        if (chunk.contiguous && bytes == view_.type.bytes)
            return {simulated_.data() + chunk.offset, gpu_.data() + chunk.offset,
                    has_before ? before_.data() + chunk.offset : nullptr};
        const std::span<const std::uint64_t> offsets = offsets_of(chunk);
        gather(simulated_.data() + inside, offsets, bytes, copies_[0].data());
        gather(gpu_.data() + inside, offsets, bytes, copies_[1].data());
        if (has_before) gather(before_.data() + inside, offsets, bytes, copies_[2].data());
        return {copies_[0].data(), copies_[1].data(), has_before ? copies_[2].data() : nullptr};
    }

    std::span<const std::uint64_t> offsets_of(const Chunk& chunk) {
        const std::span<std::uint64_t> offsets = std::span(offsets_).first(chunk.count);
        if (offsets_first_ == chunk.first && offsets_count_ == chunk.count) return offsets;
        offsets_first_ = chunk.first;
        offsets_count_ = chunk.count;
        if (chunk.contiguous)
            for (std::size_t i = 0; i < chunk.count; ++i) offsets[i] = chunk.offset + i * view_.type.bytes;
        else
            traversal_.offsets(chunk.first, offsets);
        return offsets;
    }

    /// @returns nothing where all of them are the same
    std::optional<ChunkSummary> summarise(const Chunk& chunk, const Values& values, std::size_t leaf,
                                          std::uint64_t scalar) {
        const ValueComparer& comparer = *comparers_[leaf];
        const auto are_same = [&] {
            return std::memcmp(values.simulated, values.gpu, chunk.count * comparer.bytes()) == 0;
        };
        ChunkSummary summary;
        const Summarise fast = comparer.kernels().summarise;
        if (fast != nullptr) {
            summary = fast(values.simulated, values.gpu, values.before, chunk.count, comparer.bounds(),
                           relative_.greatest);
            if (summary.differing == 0) return std::nullopt;
        }
        const bool special = fast == nullptr || summary.special;
        if (special) {
            if (are_same()) return std::nullopt;
            summary = comparer.tally(values.simulated, values.gpu, values.before, chunk.count, special_);
        }
        summary.special = special;
        const auto consider = [&](Candidate& candidate, double greatest) {
            if (greatest > candidate.greatest) candidate = {greatest, chunk, leaf, scalar};
        };
        if (!comparer.has_distance()) return summary;
        consider(absolute_, summary.greatest_absolute);
        if (summary.exceeds_relative) consider(relative_, summary.greatest_relative);
        if (comparer.has_ulp()) consider(ulp_, static_cast<double>(summary.greatest_ulp));
        return summary;
    }

    /// Marks values of a chunk from one on.
    void mark(const Values& values, std::size_t first, std::size_t count, std::size_t leaf, bool special) {
        const ValueComparer& comparer = *comparers_[leaf];
        const std::byte* simulated = values.simulated + first * comparer.bytes();
        const std::byte* gpu = values.gpu + first * comparer.bytes();
        if (special)
            comparer.mark(simulated, gpu, count, marks_.data() + first);
        else
            comparer.kernels().mark(simulated, gpu, count, comparer.bounds(), marks_.data() + first);
    }

    void compare_simple(const Chunk& chunk) {
        const Values values = load(chunk, 0, 0);
        const std::optional<ChunkSummary> summary = summarise(chunk, values, 0, 0);
        if (!summary) return;
        result_.differing += summary->differing;
        result_.mismatched += summary->mismatched;
        if (values.before != nullptr) {
            *result_.unchanged_simulated += summary->unchanged_simulated;
            *result_.unchanged_gpu += summary->unchanged_gpu;
        }
        if (summary->mismatched == 0) return;
        const bool all = summary->mismatched == chunk.count;
        const bool in_one_cell = map_.in_one_cell(chunk.first) >= chunk.count;
        if (in_one_cell)
            map_.add(chunk.first, summary->mismatched);
        else if (all)
            map_.add_all(chunk.first, chunk.count);
        const bool wants_elements = result_.first.size() < limits_.elements || positions_ != nullptr;
        if ((in_one_cell || all) && !wants_elements) return;
        std::memset(marks_.data(), 0, chunk.count);
        // Where little differs most blocks need no marks.
        for (std::size_t at = 0; at < chunk.count; at += block_size) {
            const std::size_t count = std::min(block_size, chunk.count - at);
            const std::uint64_t offset = at * comparers_.front()->bytes(),
                                bytes = count * comparers_.front()->bytes();
            if (std::memcmp(values.simulated + offset, values.gpu + offset, bytes) == 0) continue;
            mark(values, at, count, 0, summary->special);
            if (!in_one_cell && !all) map_.add(chunk.first + at, marks(chunk).subspan(at, count));
        }
        if (wants_elements) list_elements(chunk);
    }

    void compare_records(const Chunk& chunk) {
        std::memset(marks_.data(), 0, chunk.count);
        for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
            const std::uint64_t scalars = leaves_[leaf].count();
            for (std::uint64_t scalar = 0; scalar < scalars; ++scalar) {
                const Values values = load(chunk, leaf, scalar);
                const std::optional<ChunkSummary> summary = summarise(chunk, values, leaf, scalar);
                if (summary) mark(values, 0, chunk.count, leaf, summary->special);
            }
        }
        const std::uint64_t mismatched =
            std::ranges::count_if(marks(chunk), [](auto m) { return m >= mismatched_mark; });
        result_.differing += std::ranges::count_if(marks(chunk), [](auto m) { return m != 0; });
        result_.mismatched += mismatched;
        if (mismatched == 0) return;
        map_.add(chunk.first, marks(chunk));
        if (!before_.empty()) count_unchanged_records(chunk);
        list_elements(chunk);
    }

    std::span<const std::uint8_t> marks(const Chunk& chunk) const {
        return std::span(marks_).first(chunk.count);
    }

    void count_unchanged_records(const Chunk& chunk) {
        const std::span<const std::uint64_t> offsets = offsets_of(chunk);
        const auto is_unchanged = [&](Contents side, std::uint64_t offset) {
            return std::ranges::all_of(leaves_, [&](const Leaf& leaf) {
                const std::uint64_t at = offset + leaf.offset;
                return std::memcmp(side.data() + at, before_.data() + at, leaf.type.bytes * leaf.count()) ==
                       0;
            });
        };
        for (std::size_t i = 0; i < chunk.count; ++i) {
            if (marks_[i] < mismatched_mark) continue;
            *result_.unchanged_simulated += is_unchanged(simulated_, offsets[i]);
            *result_.unchanged_gpu += is_unchanged(gpu_, offsets[i]);
        }
    }

    /// Lists the mismatched elements of a chunk by their marks.
    void list_elements(const Chunk& chunk) {
        for (std::size_t i = 0; i < chunk.count; ++i) {
            if (marks_[i] < mismatched_mark) continue;
            if (positions_ != nullptr) positions_->push_back(chunk.first + i);
            if (result_.first.size() < limits_.elements)
                list_values(chunk.first + i);
            else if (positions_ == nullptr)
                return;
        }
    }

    void list_values(std::uint64_t element) {
        const std::uint64_t offset = traversal_.offset_of(element);
        for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
            const std::uint64_t scalars = leaves_[leaf].count();
            for (std::uint64_t scalar = 0; scalar < scalars; ++scalar) {
                if (result_.first.size() == limits_.elements) return;
                if (outcome_at(offset, leaf, scalar).mismatched)
                    result_.first.push_back(difference_at(element, leaf, scalar));
            }
        }
    }

    Outcome outcome_at(std::uint64_t offset, std::size_t leaf, std::uint64_t scalar) const {
        const std::uint64_t at = offset + leaves_[leaf].offset + scalar * leaves_[leaf].type.bytes;
        return comparers_[leaf]->evaluate(simulated_.data() + at, gpu_.data() + at);
    }

    Difference difference_at(std::uint64_t element, std::size_t leaf, std::uint64_t scalar) const {
        const std::uint64_t offset = traversal_.offset_of(element);
        const ElementType& type = leaves_[leaf].type;
        const std::uint64_t at = offset + leaves_[leaf].offset + scalar * type.bytes;
        const Outcome outcome = outcome_at(offset, leaf, scalar);
        Difference difference{.index = traversal_.index_of(element),
                              .field = leaves_[leaf].path_of(scalar),
                              .address = view_.address + (at - view_.offset),
                              .bytes = type.bytes,
                              .simulated = describe(type, simulated_.data() + at),
                              .gpu = describe(type, gpu_.data() + at)};
        if (outcome.has_distance) {
            difference.absolute = outcome.absolute;
            if (outcome.relative >= 0) difference.relative = outcome.relative;
            if (comparers_[leaf]->has_ulp()) difference.ulp = outcome.ulp;
        }
        return difference;
    }

    template <class Measure>
    std::optional<Difference> located(const Candidate& candidate, Measure measure) const {
        if (candidate.greatest <= 0) return std::nullopt;
        double greatest = 0;
        std::uint64_t found = candidate.chunk.first;
        for (std::uint64_t i = 0; i < candidate.chunk.count; ++i) {
            const std::uint64_t element = candidate.chunk.first + i;
            const Outcome outcome =
                outcome_at(traversal_.offset_of(element), candidate.leaf, candidate.scalar);
            if (!outcome.has_distance || measure(outcome) <= greatest) continue;
            greatest = measure(outcome);
            found = element;
        }
        return difference_at(found, candidate.leaf, candidate.scalar);
    }

    const ArrayView& view_;
    Contents simulated_, gpu_, before_;
    const Limits& limits_;
    Traversal traversal_;
    MapBuilder map_;
    std::vector<Leaf> leaves_;
    std::vector<std::unique_ptr<ValueComparer>> comparers_;
    std::vector<std::uint64_t>* positions_;  ///< of all mismatched elements in the traversal, or nullptr
    bool after_difference_ = false;
    bool simple_ = false;  ///< elements are scalars
    std::uint64_t longest_chunk_ = chunk_size;
    std::array<std::vector<std::byte>, 3> copies_;
    std::array<std::uint64_t, chunk_size> offsets_;
    std::uint64_t offsets_first_ = 0, offsets_count_ = 0;  ///< which chunk's are in offsets_
    std::array<std::uint8_t, chunk_size> marks_;
    SpecialValues special_;
    Candidate absolute_, relative_, ulp_;
    ArrayComparison result_;
};

void check_contents(const std::string& name, Contents simulated, Contents gpu, Contents before) {
    if (simulated.size() != gpu.size() || (!before.empty() && before.size() != gpu.size()))
        throw std::invalid_argument(
            "array '" + name + "' cannot be compared: its memory has " + std::to_string(simulated.size()) +
            " bytes on the simulator, " + std::to_string(gpu.size()) + " on the GPU" +
            (before.empty() ? "" : " and " + std::to_string(before.size()) + " before"));
}

std::uint64_t position_of(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& index) {
    std::uint64_t position = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) position = position * shape[axis] + index[axis];
    return position;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::same:
            return "same";
        case Verdict::close:
            return "close";
        case Verdict::different:
            return "different";
    }
    return {};
}

Verdict ArrayComparison::verdict() const {
    if (mismatched != 0) return Verdict::different;
    return differing != 0 ? Verdict::close : Verdict::same;
}

ArrayComparison compare(const ArrayView& view, Contents simulated, Contents gpu, Contents before,
                        const Tolerance& tolerance, const Limits& limits) {
    check(tolerance);
    check_contents(view.name, simulated, gpu, before);
    return ArrayComparer(view, simulated, gpu, before, tolerance, limits, nullptr).run();
}

std::vector<std::uint64_t> mismatched_elements(const ArrayView& view, Contents simulated, Contents gpu,
                                               const Tolerance& tolerance) {
    check(tolerance);
    check_contents(view.name, simulated, gpu, {});
    std::vector<std::uint64_t> elements;
    const Limits none{.elements = 0};
    ArrayComparer(view, simulated, gpu, {}, tolerance, none, &elements).run();
    const Traversal traversal(view, simulated.size());
    for (std::uint64_t& element : elements) element = position_of(view.shape, traversal.index_of(element));
    std::ranges::sort(elements);
    return elements;
}

std::uint64_t address_of(const ArrayView& view, std::uint64_t position) {
    const std::vector<std::int64_t> strides = strides_of(view);
    std::uint64_t address = view.address;
    for (std::size_t axis = view.shape.size(); axis-- > 0;) {
        address += position % view.shape[axis] * static_cast<std::uint64_t>(strides[axis]);
        position /= view.shape[axis];
    }
    return address;
}

}  // namespace cudasim::comparison
