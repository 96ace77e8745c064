// The serialised form of a KernelImage, for caches and bundles. Little-endian:
//
//   "CUDASIM\0"   8 bytes
//   version       u32, 1
//   reserved      u32, 0
//   checksum      32 bytes, SHA-256 of everything after it
//   bitcode       u64 length, bytes
//   sources       u64 count, then for each: u64 length, path; u64 length, text
//
// A reader refuses anything else, trailing bytes included. The checksum is against accidents; who means harm
// can compute it too, so the bitcode is read like any other of unknown origin.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/SHA256.h>

#include <array>
#include <cstring>

#include "simulator/image/byte_stream.h"
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

struct Payload {
    std::string bitcode;
    std::vector<SourceFile> sources;
};

Payload read_payload(ByteReader& reader) try {
    Payload payload{reader.text(), {}};
    for (std::uint64_t count = reader.number(8); count > 0; --count) {
        std::string path = reader.text();
        payload.sources.push_back({std::move(path), reader.text()});
    }
    if (!reader.rest().empty()) throw ImageError("serialised image: bytes after the end");
    return payload;
} catch (const StreamError& error) {
    throw ImageError(std::string("serialised image: ") + error.what());
}

Payload read_whole(std::span<const std::byte> bytes) {
    if (bytes.size() < header_bytes) throw ImageError("serialised image: too short for a header");
    ByteReader reader(bytes);
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
    return read_payload(reader);
}

}  // namespace

std::vector<std::byte> KernelImage::serialise() const {
    ByteWriter payload;
    payload.text(data_->original.empty() ? data_->bitcode : data_->original);
    payload.number(sources().size(), 8);
    for (const auto& source : sources()) {
        payload.text(source.path);
        payload.text(source.text);
    }
    ByteWriter whole;
    whole.raw(magic.data(), magic.size());
    whole.number(version, 4);
    whole.number(0, 4);
    const Checksum checksum = checksum_of(payload.bytes());
    whole.raw(checksum.data(), checksum.size());
    whole.raw(payload.bytes().data(), payload.bytes().size());
    return std::move(whole.bytes());
}

KernelImage KernelImage::deserialise(std::span<const std::byte> bytes) {
    Payload payload = read_whole(bytes);
    return from_bitcode(std::move(payload.bitcode), std::move(payload.sources));
}

std::vector<std::byte> KernelImage::serialise_own() const {
    ByteWriter whole;
    whole.text(hash());
    whole.text(bitcode());
    whole.number(kernels().size(), 4);
    for (const auto& kernel : kernels()) {
        whole.text(kernel.name);
        whole.number(kernel.parameter_bytes, 4);
        whole.number(kernel.parameters.size(), 4);
        for (const auto& parameter : kernel.parameters) {
            whole.text(parameter.name);
            for (const std::uint32_t number : {parameter.offset, parameter.size, parameter.alignment})
                whole.number(number, 4);
        }
    }
    whole.number(functions_with_address() ? 1 : 0, 4);
    if (functions_with_address()) {
        whole.number(functions_with_address()->size(), 4);
        for (const auto& name : *functions_with_address()) whole.text(name);
    }
    whole.number(sources().size(), 4);
    for (const auto& source : sources()) {
        whole.text(source.path);
        whole.text(source.text);
    }
    return std::move(whole.bytes());
}

KernelImage KernelImage::deserialise_own(std::span<const std::byte> bytes) try {
    const auto number = [](ByteReader& reader) { return static_cast<std::uint32_t>(reader.number(4)); };
    ByteReader reader(bytes);
    auto data = std::make_shared<Data>();
    data->hash = reader.text();
    data->bitcode = reader.text();
    for (std::uint32_t left = number(reader); left != 0; --left) {
        Kernel kernel;
        kernel.name = reader.text();
        kernel.parameter_bytes = number(reader);
        for (std::uint32_t parameters = number(reader); parameters != 0; --parameters) {
            Parameter parameter;
            parameter.name = reader.text();
            parameter.offset = number(reader);
            parameter.size = number(reader);
            parameter.alignment = number(reader);
            kernel.parameters.push_back(std::move(parameter));
        }
        data->kernels.push_back(std::move(kernel));
    }
    if (number(reader) != 0) {
        auto& names = data->functions_with_address.emplace();
        for (std::uint32_t left = number(reader); left != 0; --left) names.push_back(reader.text());
    }
    for (std::uint32_t left = number(reader); left != 0; --left) {
        std::string path = reader.text();
        data->sources.push_back({std::move(path), reader.text()});
    }
    if (!reader.rest().empty()) throw ImageError("a program's own image: bytes after the end");
    return KernelImage(std::move(data));
} catch (const StreamError& error) {
    throw ImageError(std::string("a program's own image: ") + error.what());
}

}  // namespace cudasim::image
