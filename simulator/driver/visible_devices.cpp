// Names of devices.
#include "simulator/driver/visible_devices.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/SHA1.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace cudasim::driver {

namespace {

/// Namespaces of UUIDs of names: that of URLs (RFC 4122, appendix C).
constexpr std::array<std::uint8_t, 16> url_namespace{0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                                     0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
/// Beginnings of UUIDs are longer than "GPU-".
constexpr std::size_t shortest_beginning = 5;

std::optional<std::size_t> named(llvm::StringRef name, std::span<const std::string> keys) {
    if (!name.empty() && llvm::all_of(name, llvm::isDigit)) {
        std::uint64_t number = 0;
        if (name.getAsInteger(10, number) || number >= keys.size()) return std::nullopt;
        return number;
    }
    if (name.size() < shortest_beginning) return std::nullopt;
    std::optional<std::size_t> found;
    for (std::size_t position = 0; position < keys.size(); ++position) {
        const std::string uuid = device_uuid(keys[position], position);
        if (!llvm::StringRef(uuid).starts_with_insensitive(name)) continue;
        if (found) return std::nullopt;  // it names two
        found = position;
    }
    return found;
}

}  // namespace

std::string device_uuid(std::string_view key, std::size_t position) {
    llvm::SHA1 hash;
    hash.update(llvm::ArrayRef(url_namespace));
    hash.update("cudasim:" + std::string(key) + ":" + std::to_string(position));
    std::array<std::uint8_t, 20> digest = hash.final();
    digest[6] = static_cast<std::uint8_t>((digest[6] & 0x0F) | 0x50);  // version 5: a name's SHA-1
    digest[8] = static_cast<std::uint8_t>((digest[8] & 0x3F) | 0x80);
    const std::string hex = llvm::toHex(llvm::ArrayRef(digest).take_front(16), true);
    return "GPU-" + hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
           hex.substr(16, 4) + "-" + hex.substr(20);
}

std::vector<std::size_t> visible_devices(std::optional<std::string_view> value,
                                         std::span<const std::string> keys) {
    std::vector<std::size_t> chosen;
    if (!value) {
        for (std::size_t position = 0; position < keys.size(); ++position) chosen.push_back(position);
        return chosen;
    }
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(*value).split(names, ',');
    for (const llvm::StringRef name : names) {
        const auto position = named(name.trim(), keys);
        if (!position || std::ranges::find(chosen, *position) != chosen.end()) break;
        chosen.push_back(*position);
    }
    return chosen;
}

}  // namespace cudasim::driver
