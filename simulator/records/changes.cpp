// See changes.h.
#include "simulator/records/changes.h"

#include <algorithm>
#include <cstring>

namespace cudasim::records {

std::vector<GpuChange> changes_between(std::span<const std::byte> before, std::span<const std::byte> after,
                                       BlockWriter& file) {
    std::vector<GpuChange> changes;
    std::size_t begin = 0, end = 0;
    const auto keep = [&] {
        if (begin != end) changes.push_back({begin, file.chunks(after.subspan(begin, end - begin))});
    };
    for (std::size_t at = 0; at < before.size(); at += chunk_bytes) {
        const std::size_t size = std::min<std::size_t>(chunk_bytes, before.size() - at);
        if (std::memcmp(before.data() + at, after.data() + at, size) == 0) continue;
        if (end != at) {
            keep();
            begin = at;
        }
        end = at + size;
    }
    keep();
    return changes;
}

}  // namespace cudasim::records
