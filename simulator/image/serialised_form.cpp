// The serialised form of a KernelImage, for caches and bundles. Little-endian:
//
//   "CUDASIM\0"   8 bytes
//   version       u32, 1
//   reserved      u32, 0
//   checksum      32 bytes, SHA-256 of everything after it
//   bitcode       u64 length, bytes
//   sources       u64 count, then for each: u64 length, path; u64 length, text
//
// A reader refuses anything else, trailing bytes included: the bitcode parser only sees intact bytes.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/SHA256.h>

#include <array>
#include <cstring>

#include "simulator/image/kernel_image.h"

namespace cudasim::image {
namespace {

constexpr std::array<char, 8> magic{'C', 'U', 'D', 'A', 'S', 'I', 'M', '\0'};
constexpr std::uint32_t version = 1;
constexpr std::size_t checksum_bytes = 32;
constexpr std::size_t header_bytes = magic.size() + 4 + 4 + checksum_bytes;

using Checksum = std::array<std::uint8_t, checksum_bytes>;

Checksum checksum_of(std::span<const std::byte> payload) {
    return llvm::SHA256::hash(
        llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()));
}

class Writer {
  public:
    void number(std::uint64_t value, unsigned width) {
        for (unsigned i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
    void raw(const void* data, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    void text(const std::string& value) {
        number(value.size(), 8);
        raw(value.data(), value.size());
    }
    std::vector<std::byte>& bytes() { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::uint64_t number(unsigned width) {
        std::uint64_t value = 0;
        const auto part = take(width);
        for (unsigned i = 0; i < width; ++i) value |= std::to_integer<std::uint64_t>(part[i]) << (8 * i);
        return value;
    }
    std::string text() {
        const auto part = take(number(8));
        return {reinterpret_cast<const char*>(part.data()), part.size()};
    }
    std::span<const std::byte> take(std::uint64_t size) {
        if (size > bytes_.size()) throw ImageError("serialised image: cut short");
        const auto part = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return part;
    }
    [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> KernelImage::serialise() const {
    Writer payload;
    payload.text(bitcode());
    payload.number(sources().size(), 8);
    for (const auto& source : sources()) {
        payload.text(source.path);
        payload.text(source.text);
    }
    Writer whole;
    whole.raw(magic.data(), magic.size());
    whole.number(version, 4);
    whole.number(0, 4);
    const Checksum checksum = checksum_of(payload.bytes());
    whole.raw(checksum.data(), checksum.size());
    whole.raw(payload.bytes().data(), payload.bytes().size());
    return std::move(whole.bytes());
}

KernelImage KernelImage::deserialise(std::span<const std::byte> bytes) {
    if (bytes.size() < header_bytes) throw ImageError("serialised image: too short for a header");
    Reader reader(bytes);
    if (std::memcmp(reader.take(magic.size()).data(), magic.data(), magic.size()) != 0) {
        throw ImageError("serialised image: does not begin with CUDASIM; not a kernel image");
    }
    if (const auto found = reader.number(4); found != version) {
        throw ImageError("serialised image: version " + std::to_string(found) +
                         ", this program reads version " + std::to_string(version) +
                         "; write it again with this program");
    }
    if (reader.number(4) != 0) throw ImageError("serialised image: reserved header field is not 0");
    const auto stored = reader.take(checksum_bytes);
    const Checksum actual = checksum_of(reader.rest());
    if (std::memcmp(stored.data(), actual.data(), checksum_bytes) != 0) {
        throw ImageError("serialised image: checksum does not match; the bytes were changed");
    }
    std::string bitcode = reader.text();
    std::vector<SourceFile> sources;
    for (std::uint64_t count = reader.number(8); count > 0; --count) {
        std::string path = reader.text();
        sources.push_back({std::move(path), reader.text()});
    }
    if (!reader.rest().empty()) throw ImageError("serialised image: bytes after the end");
    return from_bitcode(std::move(bitcode), std::move(sources));
}

}  // namespace cudasim::image
