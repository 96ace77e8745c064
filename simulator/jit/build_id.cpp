// See build_id.h. The note lies in a PT_NOTE segment of the loaded file (elf(5), "Notes").
#include "simulator/jit/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace cudasim::jit {
namespace {

struct Search {
    std::uintptr_t address = 0;
    std::string found;
};

std::string hex(const unsigned char* bytes, std::size_t size) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

bool holds(const dl_phdr_info& file, std::uintptr_t address) {
    for (int i = 0; i < file.dlpi_phnum; ++i) {
        const auto& segment = file.dlpi_phdr[i];
        const std::uintptr_t first = file.dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && address >= first && address - first < segment.p_memsz) return true;
    }
    return false;
}

/// The build id in one PT_NOTE segment.
std::string build_id_in(const unsigned char* notes, std::size_t size) {
    const auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        std::memcpy(&header, notes, sizeof header);
        const std::size_t name_at = sizeof header;
        const std::size_t content_at = name_at + padded(header.n_namesz);
        const std::size_t end = content_at + padded(header.n_descsz);
        if (end > size) break;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
            std::memcmp(notes + name_at, "GNU", 4) == 0)
            return hex(notes + content_at, header.n_descsz);
        notes += end;
        size -= end;
    }
    return {};
}

int visit(dl_phdr_info* file, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (!holds(*file, search.address)) return 0;
    for (int i = 0; i < file->dlpi_phnum && search.found.empty(); ++i) {
        const auto& segment = file->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        const auto* notes = reinterpret_cast<const unsigned char*>(file->dlpi_addr + segment.p_vaddr);
        search.found = build_id_in(notes, segment.p_memsz);
    }
    return 1;
}

}  // namespace

std::string build_id_of(const void* address) {
    Search search{reinterpret_cast<std::uintptr_t>(address), {}};
    dl_iterate_phdr(&visit, &search);
    return search.found;
}

}  // namespace cudasim::jit
