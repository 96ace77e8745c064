// An array of a kernel's as its source knows it, to name an element by its indices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace cudasim::execution {

struct NamedArray {
    std::string name;
    std::string element_type = {};      ///< "float32", "uint8"...; empty: not known
    std::size_t parameter = 0;          ///< of the kernel: that of its address
    std::uint64_t address = 0;          ///< of the element whose indices are all 0
    std::vector<std::int64_t> extents;  ///< in elements
    std::vector<std::int64_t> strides;  ///< in bytes

    /// The byte of its lowest element, and the one behind the last byte at which an element begins. Both are
    /// `address` where it has no elements.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> range() const {
        std::int64_t low = 0, high = 0;
        for (std::size_t axis = 0; axis < extents.size(); ++axis) {
            if (extents[axis] <= 0) return {address, address};
            const std::int64_t reach = (extents[axis] - 1) * strides[axis];
            (reach < 0 ? low : high) += reach;
        }
        return {address + static_cast<std::uint64_t>(low), address + static_cast<std::uint64_t>(high) + 1};
    }

    /// "x[3, 5]" for the element that the byte lies in; nullopt when it lies in none.
    [[nodiscard]] std::optional<std::string> element_at(std::uint64_t byte) const {
        auto rest = static_cast<std::int64_t>(byte - address);
        std::vector<std::size_t> axes(extents.size());
        std::iota(axes.begin(), axes.end(), std::size_t{0});
        std::ranges::sort(axes, std::ranges::greater(), [&](std::size_t axis) { return strides[axis]; });
        std::vector<std::int64_t> indices(extents.size());
        for (const std::size_t axis : axes) {
            if (strides[axis] <= 0) return std::nullopt;
            indices[axis] = std::min(rest / strides[axis], extents[axis] - 1);
            if (indices[axis] < 0) return std::nullopt;
            rest -= indices[axis] * strides[axis];
        }
        if (rest < 0 || (!axes.empty() && rest >= strides[axes.back()])) return std::nullopt;
        std::string text = name + "[";
        for (std::size_t axis = 0; axis < indices.size(); ++axis)
            text += (axis == 0 ? "" : ", ") + std::to_string(indices[axis]);
        return text + "]";
    }
};

}  // namespace cudasim::execution
