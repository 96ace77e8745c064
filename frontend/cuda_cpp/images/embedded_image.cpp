// See embedded_image.h.
#include "frontend/cuda_cpp/images/embedded_image.h"

#include <llvm/Support/xxhash.h>

#include <array>
#include <cstring>
#include <span>

#include "simulator/image/byte_stream.h"

namespace cudasim::cuda_cpp {
namespace {

constexpr std::array<char, 8> magic{'C', 'U', 'D', 'A', 'S', 'I', 'M', 'I'};
constexpr std::uint32_t version = 2;
constexpr std::size_t header_bytes = 32;
constexpr std::uint32_t relocatable_flag = 1, inline_assembly_flag = 2;

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
    return llvm::xxh3_64bits(
        llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

}  // namespace

std::vector<std::byte> embedded_form(const EmbeddedImage& embedded) {
    const std::vector<std::byte> image = embedded.image.serialise_own();
    image::ByteWriter whole;
    whole.raw(magic.data(), magic.size());
    whole.number(version, 4);
    whole.number(
        (embedded.relocatable ? relocatable_flag : 0) | (embedded.inline_assembly ? inline_assembly_flag : 0),
        4);
    whole.number(image.size(), 8);
    whole.number(checksum_of(image), 8);
    whole.raw(image.data(), image.size());
    return std::move(whole.bytes());
}

bool is_embedded_image(const void* bytes) {
    return std::memcmp(bytes, magic.data(), magic.size()) == 0;
}

std::span<const std::byte> bytes_of_embedded_image(const void* bytes) {
    std::uint64_t size = 0;
    std::memcpy(&size, static_cast<const std::byte*>(bytes) + magic.size() + 8, sizeof size);
    return {static_cast<const std::byte*>(bytes) + header_bytes, size};
}

EmbeddedImage read_embedded_image(const void* bytes) {
    image::ByteReader header(
        {static_cast<const std::byte*>(bytes) + magic.size(), header_bytes - magic.size()});
    if (const auto found = header.number(4); found != version)
        throw image::ImageError("embedded device code has version " + std::to_string(found) +
                                ", this libcudart.so reads version " + std::to_string(version) +
                                "; compile the program again");
    const auto flags = header.number(4);
    const std::uint64_t size = header.number(8), checksum = header.number(8);
    const std::span image(static_cast<const std::byte*>(bytes) + header_bytes, size);
    if (checksum_of(image) != checksum)
        throw image::ImageError("embedded device code: the checksum does not match; the program was changed");
    return {image::KernelImage::deserialise_own(image), (flags & relocatable_flag) != 0,
            (flags & inline_assembly_flag) != 0};
}

}  // namespace cudasim::cuda_cpp
