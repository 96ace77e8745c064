// The elements of a view in the order of their addresses.
#pragma once

#include <optional>

#include "gpu_backend/comparison/comparison.h"

namespace cudasim::comparison {

/// An axis of a view, walked towards higher addresses.
struct WalkedAxis {
    std::size_t axis = 0;  ///< in the view
    std::uint64_t extent = 0;
    std::uint64_t stride = 0;  ///< in bytes
    bool reversed = false;     ///< the view walks it towards lower addresses
};

/// Elements are counted in the order of the axes, the one with the greatest stride outermost: 0 is the
/// element at the lowest address. Axes with one element, and those that are broadcast (strides of 0), are not
/// walked: what is broadcast counts once.
class Traversal {
  public:
    /// @param bytes size of the contents that the view lies in
    /// @throws std::invalid_argument where it does not, or where shape and strides do not fit each other
    Traversal(const ArrayView& view, std::uint64_t bytes);

    [[nodiscard]] std::uint64_t elements() const { return elements_; }
    [[nodiscard]] const std::vector<WalkedAxis>& axes() const { return axes_; }
    /// Elements that lie one after another from an element on, up to a limit: at least 1.
    [[nodiscard]] std::uint64_t contiguous_from(std::uint64_t element) const;
    /// Where an element begins in the contents.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t element) const;
    /// Its index in the view.
    [[nodiscard]] std::vector<std::uint64_t> index_of(std::uint64_t element) const;
    /// Offsets of elements, one after another.
    void offsets(std::uint64_t first, std::span<std::uint64_t> result) const;

  private:
    std::vector<WalkedAxis> axes_;  ///< outermost first
    std::size_t view_axes_ = 0;
    std::uint64_t lowest_ = 0;  ///< offset of element 0
    std::uint64_t elements_ = 0;
    std::uint64_t run_ = 0;  ///< elements of a contiguous run
};

/// Strides of a view, those of a C-contiguous array where it has none.
[[nodiscard]] std::vector<std::int64_t> strides_of(const ArrayView& view);

}  // namespace cudasim::comparison
