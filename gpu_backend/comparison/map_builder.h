// Counts the mismatched elements of an array in the cells of its map.
#pragma once

#include "gpu_backend/comparison/traversal.h"

namespace cudasim::comparison {

class MapBuilder {
  public:
    MapBuilder(const ArrayView& view, const Traversal& traversal, const Limits& limits);

    /// How many elements from this one on are in one cell, in the order of the traversal: at least 1.
    [[nodiscard]] std::uint64_t in_one_cell(std::uint64_t element) const;
    // Elements are added in the order of the traversal.
    /// Elements from the first on that are all mismatched.
    void add_all(std::uint64_t first, std::uint64_t count);
    /// Elements of which some are mismatched, all in one cell.
    void add(std::uint64_t first, std::uint64_t mismatched);
    /// Elements from the first on, with their marks (chunk_kernels.h).
    void add(std::uint64_t first, std::span<const std::uint8_t> marks);

    /// Empty where nothing was added. Nothing can be added afterwards.
    [[nodiscard]] MismatchMap result();

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

    /// Sets outer_ and outer_end_ for an element.
    void enter(std::uint64_t element);
    void add_to_columns(std::uint64_t at, std::span<const std::uint8_t> marks);
    void add_all_to_columns(std::uint64_t at, std::uint64_t count);
    /// @param mismatched_among (offset, count) → how many mismatched elements there are among those from the
    /// offset on
    template <class MismatchedAmong>
    void add_to_cells(std::uint64_t at, std::uint64_t count, MismatchedAmong mismatched_among);
    void fold_columns();

    std::vector<Step> steps_;  ///< outermost first; one at least
    MismatchMap map_;
    bool any_ = false;
    std::uint64_t outer_ =
        0;  ///< the cell of elements up to outer_end_, without the part of the innermost axis
    std::uint64_t outer_end_ = 0;
    /// Along a short innermost axis, what was added since the cell changed; else empty.
    std::vector<std::uint32_t> columns_;
    std::uint32_t whole_lines_ = 0;  ///< to be added to all of them
};

}  // namespace cudasim::comparison
