#include "gpu_backend/comparison/map_builder.h"

#include <algorithm>

#include "gpu_backend/comparison/chunk_kernels.h"

namespace cudasim::comparison {
namespace {

/// Innermost axes up to this length are counted by column first. Along longer ones cells are wide enough to
/// be summed up.
constexpr std::uint64_t longest_line = 2048;
/// So that counts of columns stay within 32 bits.
constexpr std::uint64_t most_lines = std::uint64_t{1} << 31;

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) {
    return (value + by - 1) / by;
}

std::uint32_t mismatched_in(std::span<const std::uint8_t> marks) {
    std::uint32_t count = 0;
    for (const std::uint8_t mark : marks) count += mark / mismatched_mark;
    return count;
}

}  // namespace

MapBuilder::MapBuilder(const ArrayView& view, const Traversal& traversal, const Limits& limits) {
    const std::size_t axes = view.shape.size();
    // An axis that is broadcast counts once.
    std::vector<std::uint64_t> extents(axes, 1);
    for (const WalkedAxis& axis : traversal.axes()) extents[axis.axis] = axis.extent;
    const std::uint64_t height = axes >= 2 ? extents[axes - 2] : 1, width = axes >= 1 ? extents[axes - 1] : 1;
    map_.cell_rows = divided_up(height, std::max<std::uint64_t>(limits.map_rows, 1));
    map_.cell_columns = divided_up(width, std::max<std::uint64_t>(limits.map_columns, 1));
    map_.rows = divided_up(height, map_.cell_rows);
    map_.columns = divided_up(width, map_.cell_columns);
    map_.counts.resize(map_.rows * map_.columns);
    for (const WalkedAxis& axis : traversal.axes()) {
        Step step{.extent = axis.extent, .reversed = axis.reversed};
        if (axis.axis + 1 == axes) {
            step.elements_per_cell = map_.cell_columns;
            step.cells = 1;
        } else if (axis.axis + 2 == axes) {
            step.elements_per_cell = map_.cell_rows;
            step.cells = map_.columns;
        }
        steps_.push_back(step);
    }
    if (steps_.empty()) steps_.push_back({.extent = 1});
    if (steps_.back().extent <= longest_line) columns_.resize(steps_.back().extent);
}

std::uint64_t MapBuilder::Step::left(std::uint64_t at) const {
    if (elements_per_cell == 0) return extent - at;
    if (reversed) return (extent - 1 - at) % elements_per_cell + 1;
    return std::min(elements_per_cell - at % elements_per_cell, extent - at);
}

void MapBuilder::enter(std::uint64_t element) {
    if (element < outer_end_) return;
    fold_columns();
    const std::uint64_t inner = steps_.back().extent;
    outer_ = 0;
    std::uint64_t line = element / inner;
    // Lines from this one on in the same cell: along the axis next to the innermost one.
    std::uint64_t lines = 1;
    for (std::size_t i = steps_.size() - 1; i-- > 0;) {
        const std::uint64_t at = line % steps_[i].extent;
        if (i + 2 == steps_.size()) lines = steps_[i].left(at);
        outer_ += steps_[i].cell(at);
        line /= steps_[i].extent;
    }
    outer_end_ = (element / inner + std::min(lines, most_lines)) * inner;
}

std::uint64_t MapBuilder::in_one_cell(std::uint64_t element) const {
    return steps_.back().left(element % steps_.back().extent);
}

void MapBuilder::add(std::uint64_t first, std::uint64_t mismatched) {
    enter(first);
    const Step& inner = steps_.back();
    map_.counts[outer_ + inner.cell(first % inner.extent)] += mismatched;
    any_ = true;
}

void MapBuilder::add_all(std::uint64_t first, std::uint64_t count) {
    while (count != 0) {
        enter(first);
        const std::uint64_t here = std::min(outer_end_ - first, count);
        const std::uint64_t at = first % steps_.back().extent;
        if (columns_.empty())
            add_to_cells(at, here, [](std::uint64_t, std::uint64_t size) { return size; });
        else
            add_all_to_columns(at, here);
        first += here;
        count -= here;
    }
}

void MapBuilder::add(std::uint64_t first, std::span<const std::uint8_t> marks) {
    while (!marks.empty()) {
        enter(first);
        const std::uint64_t count = std::min<std::uint64_t>(outer_end_ - first, marks.size());
        const std::uint64_t at = first % steps_.back().extent;
        if (columns_.empty())
            add_to_cells(at, count, [&](std::uint64_t offset, std::uint64_t size) {
                return mismatched_in(marks.subspan(offset, size));
            });
        else
            add_to_columns(at, marks.first(count));
        marks = marks.subspan(count);
        first += count;
    }
}

void MapBuilder::add_to_columns(std::uint64_t at, std::span<const std::uint8_t> marks) {
    if (columns_.size() < 32) {
        for (const std::uint8_t mark : marks) {
            columns_[at] += mark / mismatched_mark;
            if (++at == columns_.size()) at = 0;
        }
        return;
    }
    while (!marks.empty()) {
        const std::uint64_t count = std::min<std::uint64_t>(columns_.size() - at, marks.size());
        for (std::uint64_t i = 0; i < count; ++i) columns_[at + i] += marks[i] / mismatched_mark;
        marks = marks.subspan(count);
        at = 0;
    }
}

void MapBuilder::add_all_to_columns(std::uint64_t at, std::uint64_t count) {
    whole_lines_ += static_cast<std::uint32_t>(count / columns_.size());
    const std::uint64_t rest = count % columns_.size();
    const std::uint64_t end = std::min<std::uint64_t>(at + rest, columns_.size());
    for (std::uint64_t column = at; column < end; ++column) ++columns_[column];
    for (std::uint64_t column = 0; column < at + rest - end; ++column) ++columns_[column];
}

void MapBuilder::fold_columns() {
    for (std::size_t at = 0; at < columns_.size(); ++at) {
        const std::uint32_t count = columns_[at] + whole_lines_;
        if (count == 0) continue;
        map_.counts[outer_ + steps_.back().cell(at)] += count;
        columns_[at] = 0;
        any_ = true;
    }
    whole_lines_ = 0;
}

template <class MismatchedAmong>
void MapBuilder::add_to_cells(std::uint64_t at, std::uint64_t count, MismatchedAmong mismatched_among) {
    const Step& inner = steps_.back();
    std::uint64_t left = inner.left(at);
    for (std::uint64_t offset = 0; offset < count;) {
        const std::uint64_t size = std::min(left, count - offset);
        map_.counts[outer_ + inner.cell(at)] += mismatched_among(offset, size);
        offset += size;
        at = at + size == inner.extent ? 0 : at + size;
        left = at == 0 ? inner.left(0) : std::min(inner.elements_per_cell, inner.extent - at);
    }
    any_ = true;
}

MismatchMap MapBuilder::result() {
    fold_columns();
    return any_ ? map_ : MismatchMap{};
}

}  // namespace cudasim::comparison
