// See fat_binary.h.
#include "frontend/cuda_cpp/images/fat_binary.h"

#include <link.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "frontend/cuda_cpp/images/lz4_block.h"
#include "frontend/cuda_cpp/images/managed_variables.h"
#include "frontend/ptx/reader.h"
#include "simulator/image/byte_stream.h"
#include "simulator/image/linking.h"

namespace cudasim::cuda_cpp {
namespace {

constexpr std::uint32_t magic = 0xBA55ED50;
constexpr std::size_t header_bytes = 16, entry_header_bytes = 64;
constexpr std::uint64_t lz4_flag = 0x2000, zstd_flag = 0x8000;

/// Of decompressed PTX. The largest modules of NVIDIA's own libraries have some tens of MiB.
constexpr std::uint64_t most_plain_bytes = std::uint64_t{256} << 20;

[[noreturn]] void refuse(const std::string& reason) {
    throw FatBinaryError("fat binary: " + reason);
}

/// How many bytes there are from an address to the end of the program's segment that it lies in; nothing for
/// other memory.
std::optional<std::size_t> bytes_in_segment(const void* bytes) {
    struct Search {
        std::uintptr_t address;
        std::optional<std::size_t> left;
    } search{reinterpret_cast<std::uintptr_t>(bytes), {}};
    dl_iterate_phdr(
        [](dl_phdr_info* program, std::size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            for (unsigned i = 0; i < program->dlpi_phnum; ++i) {
                const auto& segment = program->dlpi_phdr[i];
                const std::uintptr_t first = program->dlpi_addr + segment.p_vaddr;
                if (segment.p_type != PT_LOAD || wanted.address < first ||
                    wanted.address - first >= segment.p_memsz)
                    continue;
                wanted.left = segment.p_memsz - (wanted.address - first);
                return 1;
            }
            return 0;
        },
        &search);
    return search.left;
}

FatBinaryEntry next_entry(image::ByteReader& reader) {
    FatBinaryEntry entry;
    const std::uint64_t kind = reader.number(2);
    entry.kind = kind == 1   ? FatBinaryEntry::Kind::ptx
                 : kind == 2 ? FatBinaryEntry::Kind::machine_code
                             : FatBinaryEntry::Kind::other;
    (void)reader.number(2);
    const std::uint64_t header = reader.number(4), padded = reader.number(8), compressed = reader.number(4);
    (void)reader.take(8);  // options, version
    entry.architecture = static_cast<unsigned>(reader.number(4));
    (void)reader.take(8);  // name
    const std::uint64_t flags = reader.number(8);
    (void)reader.take(8);
    entry.plain_bytes = reader.number(8);
    if (header < entry_header_bytes) refuse("an entry's header has " + std::to_string(header) + " bytes");
    (void)reader.take(header - entry_header_bytes);
    entry.payload = reader.take(padded);
    if ((flags & (lz4_flag | zstd_flag)) == 0) return entry;
    entry.compression =
        (flags & zstd_flag) != 0 ? FatBinaryEntry::Compression::zstd : FatBinaryEntry::Compression::lz4;
    if (compressed > padded) refuse("an entry announces more compressed bytes than it has");
    entry.payload = entry.payload.first(compressed);
    return entry;
}

std::string list(const std::set<unsigned>& architectures, const char* prefix) {
    std::string text;
    for (const unsigned architecture : architectures)
        text += (text.empty() ? "" : ", ") + std::string(prefix) + std::to_string(architecture);
    return text;
}

/// What the program was compiled for, and what to do.
[[noreturn]] void refuse_without_ptx(const std::vector<FatBinaryEntry>& entries, unsigned capability) {
    std::set<unsigned> machine_code, ptx;
    bool has_other = false;
    for (const FatBinaryEntry& entry : entries) {
        if (entry.kind == FatBinaryEntry::Kind::ptx) ptx.insert(entry.architecture);
        if (entry.kind == FatBinaryEntry::Kind::machine_code) machine_code.insert(entry.architecture);
        has_other = has_other || entry.kind == FatBinaryEntry::Kind::other;
    }
    const std::string device = std::to_string(capability);
    std::string text = "the device code that nvcc built into this program ";
    if (!ptx.empty())
        text += "has PTX for " + list(ptx, "compute_") + ", which a device of compute capability " +
                std::to_string(capability / 10) + "." + std::to_string(capability % 10) + " cannot run";
    else if (!machine_code.empty())
        text += "is machine code (SASS) for " + list(machine_code, "sm_") +
                " without PTX, which alone can be simulated";
    else if (has_other)
        text += "is intermediate code for link-time optimisation without PTX, which alone can be simulated";
    else
        text += "is empty";
    throw NoPtxError(text + "; compile it with -gencode arch=compute_" + device + ",code=compute_" + device +
                     ", or with -arch=compute_" + device);
}

std::size_t decompressed_zstd(std::span<const std::byte> from, std::span<char> to) {
    const std::size_t size = ZSTD_decompress(to.data(), to.size(), from.data(), from.size());
    if (ZSTD_isError(size) != 0) refuse(std::string("zstd says: ") + ZSTD_getErrorName(size));
    return size;
}

}  // namespace

bool is_fat_binary(const void* bytes) {
    return std::memcmp(bytes, &magic, sizeof magic) == 0;
}

std::span<const std::byte> fat_binary_at(const void* bytes) {
    const auto* first = static_cast<const std::byte*>(bytes);
    const std::optional<std::size_t> left = bytes_in_segment(bytes);
    if (left && *left < header_bytes) refuse("cut short");
    std::uint16_t header = 0;
    std::uint64_t size = 0;
    std::memcpy(&header, first + 6, sizeof header);
    std::memcpy(&size, first + 8, sizeof size);
    if (!is_fat_binary(bytes) || header < header_bytes) refuse("the header is damaged");
    if (size > SIZE_MAX - header || (left && header + size > *left))
        refuse("the header announces " + std::to_string(size) + " bytes, which the program does not have");
    return {first, static_cast<std::size_t>(header + size)};
}

std::vector<FatBinaryEntry> fat_binary_entries(std::span<const std::byte> fat_binary) try {
    image::ByteReader reader(fat_binary);
    if (reader.number(4) != magic) refuse("the header is damaged");
    if (const auto version = reader.number(2); version != 1)
        refuse("version " + std::to_string(version) + " is not supported, version 1 is");
    const std::uint64_t header = reader.number(2), size = reader.number(8);
    if (header < header_bytes) refuse("the header is damaged");
    (void)reader.take(header - header_bytes);
    const std::span<const std::byte> all = reader.take(size);
    image::ByteReader entries(all);
    std::vector<FatBinaryEntry> result;
    for (std::size_t used = 0; used < all.size();) {
        result.push_back(next_entry(entries));
        used = all.size() - entries.rest().size();
    }
    return result;
} catch (const image::StreamError& error) {
    refuse(error.what());
}

std::string ptx_of(const FatBinaryEntry& entry) {
    if (entry.compression == FatBinaryEntry::Compression::none) {
        const auto* text = reinterpret_cast<const char*>(entry.payload.data());
        return {text, strnlen(text, entry.payload.size())};  // zeros fill it up
    }
    if (entry.plain_bytes > most_plain_bytes)
        refuse("PTX of " + std::to_string(entry.plain_bytes) + " bytes is too large");
    const auto plain = std::make_unique_for_overwrite<char[]>(entry.plain_bytes);
    const std::span<char> target(plain.get(), entry.plain_bytes);
    const std::optional<std::size_t> size = entry.compression == FatBinaryEntry::Compression::zstd
                                                ? decompressed_zstd(entry.payload, target)
                                                : decompressed_lz4(entry.payload, target);
    if (!size || *size != entry.plain_bytes) refuse("compressed PTX is damaged");
    return {plain.get(), strnlen(plain.get(), *size)};
}

FatBinaryEntry best_ptx(std::span<const std::byte> fat_binary, unsigned capability) {
    const std::vector<FatBinaryEntry> entries = fat_binary_entries(fat_binary);
    const FatBinaryEntry* best = nullptr;
    for (const FatBinaryEntry& entry : entries) {
        if (entry.kind != FatBinaryEntry::Kind::ptx || entry.architecture > capability) continue;
        if (best == nullptr || entry.architecture > best->architecture) best = &entry;
    }
    if (best == nullptr) refuse_without_ptx(entries, capability);
    return *best;
}

image::KernelImage read_fat_binary(std::span<const std::byte> fat_binary, unsigned capability) {
    const FatBinaryEntry entry = best_ptx(fat_binary, capability);
    const std::string text = ptx_of(entry);
    auto image = ptx::read(text, "embedded PTX for compute_" + std::to_string(entry.architecture),
                           ptx::Entries::kernels);
    return text.find(".managed") == text.npos ? image : with_managed_variables(image);
}

image::KernelImage read_linked_fat_binaries(std::span<const void* const> files, unsigned capability) {
    std::vector<image::KernelImage> parts;
    std::optional<NoPtxError> without;
    for (const void* file : files) {
        try {
            parts.push_back(read_fat_binary(fat_binary_at(file), capability));
        } catch (const NoPtxError& error) {
            if (!without) without.emplace(error);
        }
    }
    if (parts.empty() && without) throw NoPtxError(*without);
    if (parts.empty()) refuse("no file was linked");
    return parts.size() == 1 ? parts.front() : image::linked(parts);
}

}  // namespace cudasim::cuda_cpp
