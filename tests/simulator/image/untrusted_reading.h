// One trial of the image reader with bytes that nobody vouches for; what the tests and the fuzzer share.
// Whatever the bytes are: an image that holds together, or an ImageError. Anything else ends the process.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/SHA256.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "simulator/image/kernel_image.h"

namespace cudasim::image::testing {

inline constexpr std::size_t serialised_header_bytes = 48;  // magic, version, reserved, checksum
inline constexpr std::size_t checksum_offset = 16;

/// Gives a serialised image that was changed the checksum that fits, so that reading goes past it.
inline void restamp(std::span<std::byte> bytes) {
    if (bytes.size() < serialised_header_bytes) return;
    const auto rest = bytes.subspan(serialised_header_bytes);
    const auto checksum = llvm::SHA256::hash(
        llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(rest.data()), rest.size()));
    std::memcpy(bytes.data() + checksum_offset, checksum.data(), checksum.size());
}

inline void require(bool condition) {
    if (!condition) std::abort();
}

/// What must hold of every image that was let in.
inline void examine(const KernelImage& image) {
    const auto bytes = image.serialise();
    const auto again = KernelImage::deserialise(bytes);
    require(again.kernels() == image.kernels() && again.sources() == image.sources());
    require(again.hash() == image.hash());
    require(!image.ir_text().empty());
    for (const Kernel& kernel : image.kernels()) require(image.find(kernel.name) != nullptr);
}

/// True when some reader took the bytes for an image.
inline bool try_reading(std::span<const std::byte> bytes) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    bool taken = false;
    const auto attempt = [&](auto read) {
        try {
            examine(read());
            taken = true;
        } catch (const ImageError&) {
        }
    };
    const bool bitcode = text.starts_with("BC");
    const bool serialised = text.starts_with("CUDASIM");
    if (serialised) attempt([&] { return KernelImage::deserialise(bytes); });
    if (bitcode) attempt([&] { return KernelImage::from_bitcode(text); });
    if (!bitcode && !serialised) attempt([&] { return KernelImage::from_ir_text(text); });
    return taken;
}

}  // namespace cudasim::image::testing
