// What belongs to a record by itself.
#include "simulator/driver/launch_record.h"

#include <llvm/Support/xxhash.h>

#include <cstring>

namespace cudasim::driver {

Content::Content(std::string_view text) : Content(text.size()) {
    if (!text.empty()) std::memcpy(data_.get(), text.data(), text.size());
}

Hash hash_of(std::span<const std::byte> bytes) {
    const auto hash = llvm::xxh3_128bits({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    return {hash.low64, hash.high64};
}

std::string headline(const LaunchRecord& record) {
    const auto text = [](const execution::Dim3& dim) {
        return "(" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) +
               ")";
    };
    return "#" + std::to_string(record.number) + " " + record.display_name + "<<<" +
           text(record.configuration.grid) + ", " + text(record.configuration.block) + ">>>";
}

}  // namespace cudasim::driver
