#include "gpu_backend/comparison/map_builder.h"

#include <algorithm>

#include "gpu_backend/comparison/chunk_kernels.h"

namespace cudasim::comparison {
namespace {

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
}

std::uint64_t MapBuilder::Step::left(std::uint64_t at) const {
    if (elements_per_cell == 0) return extent - at;
    if (reversed) return (extent - 1 - at) % elements_per_cell + 1;
    return std::min(elements_per_cell - at % elements_per_cell, extent - at);
}

std::uint64_t MapBuilder::outer_cell(std::uint64_t element) const {
    std::uint64_t cell = 0;
    element /= steps_.back().extent;
    for (std::size_t i = steps_.size() - 1; i-- > 0;) {
        cell += steps_[i].cell(element % steps_[i].extent);
        element /= steps_[i].extent;
    }
    return cell;
}

std::uint64_t MapBuilder::in_one_cell(std::uint64_t element) const {
    return steps_.back().left(element % steps_.back().extent);
}

void MapBuilder::add(std::uint64_t element, std::uint64_t mismatched) {
    const Step& inner = steps_.back();
    map_.counts[outer_cell(element) + inner.cell(element % inner.extent)] += mismatched;
    any_ |= mismatched != 0;
}

void MapBuilder::add(std::uint64_t first, std::span<const std::uint8_t> marks) {
    const Step& inner = steps_.back();
    std::uint64_t at = first % inner.extent;
    std::uint64_t outer = outer_cell(first);
    while (!marks.empty()) {
        const std::uint64_t count = std::min<std::uint64_t>(inner.left(at), marks.size());
        const std::uint32_t mismatched = mismatched_in(marks.first(count));
        map_.counts[outer + inner.cell(at)] += mismatched;
        any_ |= mismatched != 0;
        marks = marks.subspan(count);
        first += count;
        at += count;
        if (at < inner.extent) continue;
        at = 0;
        if (!marks.empty()) outer = outer_cell(first);
    }
}

MismatchMap MapBuilder::result() const {
    return any_ ? map_ : MismatchMap{};
}

}  // namespace cudasim::comparison
