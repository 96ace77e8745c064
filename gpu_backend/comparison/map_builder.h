// Counts the mismatched elements of an array in the cells of its map.
#pragma once

#include "gpu_backend/comparison/traversal.h"

namespace cudasim::comparison {

class MapBuilder {
  public:
    MapBuilder(const ArrayView& view, const Traversal& traversal, const Limits& limits);

    /// How many elements from this one on are in one cell, in the order of the traversal: at least 1.
    [[nodiscard]] std::uint64_t in_one_cell(std::uint64_t element) const;
    void add(std::uint64_t element, std::uint64_t mismatched);
    /// Elements from the first on, with their marks (chunk_kernels.h).
    void add(std::uint64_t first, std::span<const std::uint8_t> marks);

    /// Empty where nothing was added.
    [[nodiscard]] MismatchMap result() const;

  private:
    /// What one axis of the traversal has to do with the map.
    struct Step {
        std::uint64_t extent = 0;
        bool reversed = false;
        std::uint64_t elements_per_cell =
            0;                    ///< along this axis; 0 where the axis is in no direction of the map
        std::uint64_t cells = 0;  ///< between neighbours along this axis, in map_.counts

        [[nodiscard]] std::uint64_t cell(std::uint64_t at) const {
            if (elements_per_cell == 0) return 0;
            return (reversed ? extent - 1 - at : at) / elements_per_cell * cells;
        }
        /// From this coordinate on, in the same cell.
        [[nodiscard]] std::uint64_t left(std::uint64_t at) const;
    };

    /// The cell of an element, without the part of the innermost axis.
    [[nodiscard]] std::uint64_t outer_cell(std::uint64_t element) const;

    std::vector<Step> steps_;  ///< outermost first; one at least
    MismatchMap map_;
    bool any_ = false;
};

}  // namespace cudasim::comparison
