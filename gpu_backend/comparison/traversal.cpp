#include "gpu_backend/comparison/traversal.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace cudasim::comparison {
namespace {

[[noreturn]] void refuse(const ArrayView& view, const std::string& why) {
    throw std::invalid_argument("array '" + view.name + "' cannot be compared: " + why);
}

// Products of extents and strides stay within 128 bits.
using Wide = __int128;

}  // namespace

std::vector<std::int64_t> strides_of(const ArrayView& view) {
    if (!view.strides.empty()) return view.strides;
    std::vector<std::int64_t> strides(view.shape.size());
    std::uint64_t stride = view.type.bytes;
    for (std::size_t axis = strides.size(); axis-- > 0;) {
        strides[axis] = static_cast<std::int64_t>(stride);
        stride *= view.shape[axis];  // where this overflows the array is longer than any contents
    }
    return strides;
}

Traversal::Traversal(const ArrayView& view, std::uint64_t bytes) : view_axes_(view.shape.size()) {
    if (!view.strides.empty() && view.strides.size() != view.shape.size())
        refuse(view, "it has " + std::to_string(view.shape.size()) + " axes and " +
                         std::to_string(view.strides.size()) + " strides");
    constexpr std::uint64_t most = std::uint64_t{1} << 48;
    elements_ = 1;
    for (const std::uint64_t extent : view.shape)
        if (extent == 0) elements_ = 0;
    if (elements_ == 0) return;
    const std::vector<std::int64_t> strides = strides_of(view);
    Wide low = view.offset, high = view.offset;
    Wide expected = view.type.bytes;
    for (std::size_t axis = view_axes_; axis-- > 0;) {
        const std::uint64_t extent = view.shape[axis];
        if (extent > most) refuse(view, "it is longer than the memory that it lies in");
        if (view.strides.empty()) {
            expected *= extent;
            if (expected > bytes) refuse(view, "it is longer than the memory that it lies in");
        }
        if (extent == 1 || strides[axis] == 0) continue;
        const Wide distance = static_cast<Wide>(extent - 1) * strides[axis];
        (distance < 0 ? low : high) += distance;
        if (elements_ > most / extent) refuse(view, "it has more elements than memory");
        elements_ *= extent;
        const std::int64_t stride = strides[axis];
        const std::uint64_t size = stride < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(stride)
                                              : static_cast<std::uint64_t>(stride);
        axes_.push_back({.axis = axis, .extent = extent, .stride = size, .reversed = stride < 0});
    }
    if (low < 0 || high + static_cast<Wide>(view.type.bytes) > static_cast<Wide>(bytes))
        refuse(view, "it does not lie within its memory of " + std::to_string(bytes) + " bytes");
    lowest_ = static_cast<std::uint64_t>(low);
    std::ranges::reverse(axes_);
    std::ranges::stable_sort(axes_, std::greater{}, &WalkedAxis::stride);
    run_ = 1;
    for (auto axis = axes_.rbegin(); axis != axes_.rend() && axis->stride == run_ * view.type.bytes; ++axis)
        run_ *= axis->extent;
}

std::uint64_t Traversal::contiguous_from(std::uint64_t element) const {
    return run_ - element % run_;
}

std::uint64_t Traversal::offset_of(std::uint64_t element) const {
    std::uint64_t offset = lowest_;
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
        offset += element % axis->extent * axis->stride;
        element /= axis->extent;
    }
    return offset;
}

std::vector<std::uint64_t> Traversal::index_of(std::uint64_t element) const {
    std::vector<std::uint64_t> index(view_axes_);
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
        const std::uint64_t at = element % axis->extent;
        index[axis->axis] = axis->reversed ? axis->extent - 1 - at : at;
        element /= axis->extent;
    }
    return index;
}

void Traversal::offsets(std::uint64_t first, std::span<std::uint64_t> result) const {
    if (axes_.empty()) {
        std::ranges::fill(result, lowest_);
        return;
    }
    const WalkedAxis& inner = axes_.back();
    std::size_t done = 0;
    while (done < result.size()) {
        const std::uint64_t element = first + done;
        const std::uint64_t left = inner.extent - element % inner.extent;
        std::uint64_t offset = offset_of(element);
        const std::size_t end =
            done + static_cast<std::size_t>(std::min<std::uint64_t>(left, result.size() - done));
        for (; done < end; ++done, offset += inner.stride) result[done] = offset;
    }
}

}  // namespace cudasim::comparison
