// What belongs to a record by itself.
#include "simulator/driver/launch_record.h"

#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/memory/large_buffer.h"

namespace cudasim::driver {

Content::Content(std::uint64_t size) : data_(memory::large_buffer(size)), size_(size) {}

Content::Content(std::string_view text) : Content(text.size()) {
    if (!text.empty()) std::memcpy(data_.get(), text.data(), text.size());
}

namespace {

constexpr std::pair<MemoryKind, std::string_view> memory_kinds[] = {{MemoryKind::device, "device"},
                                                                    {MemoryKind::host, "host"},
                                                                    {MemoryKind::adopted, "adopted"},
                                                                    {MemoryKind::freed, "freed"}};

}  // namespace

std::string_view name_of(MemoryKind kind) {
    return std::ranges::find(memory_kinds, kind, [](const auto& row) { return row.first; })->second;
}

std::optional<MemoryKind> memory_kind_of(std::string_view name) {
    const auto* row = std::ranges::find(memory_kinds, name, [](const auto& each) { return each.second; });
    if (row == std::end(memory_kinds)) return std::nullopt;
    return row->first;
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
