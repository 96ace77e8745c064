// What belongs to a record by itself.
#include "simulator/driver/launch_record.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "simulator/memory/arena.h"

namespace cudasim::driver {

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

namespace {

/// Whether a word at a multiple of 8 lies in one of the ranges, which are sorted.
bool holds_addresses(const RecordedMemory& range, const std::vector<records::GpuMemory>& memory) {
    const std::uint64_t lowest = memory.front().address,
                        highest = memory.back().address + memory.back().bytes;
    const auto* bytes = range.before->data();
    for (std::uint64_t at = (8 - range.address % 8) % 8; at + 8 <= range.bytes; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, 8);
        if (word < lowest || word > highest) continue;
        const auto next = std::ranges::upper_bound(memory, word, {}, &records::GpuMemory::address);
        if (next != memory.begin() && word - std::prev(next)->address <= std::prev(next)->bytes) return true;
    }
    return false;
}

/// "kind: message" of the first error among the findings; empty where there is none.
std::string first_error(const Outcome& outcome) {
    auto parsed = llvm::json::parse(outcome.findings);
    if (!parsed) {
        llvm::consumeError(parsed.takeError());
        return {};
    }
    const auto* whole = parsed->getAsObject();
    const auto* findings = whole != nullptr ? whole->getArray("findings") : nullptr;
    if (findings == nullptr) return {};
    for (const auto& each : *findings) {
        const auto* finding = each.getAsObject();
        if (finding == nullptr || finding->getString("severity") != "error") continue;
        return (finding->getString("kind").value_or("") + ": " + finding->getString("message").value_or(""))
            .str();
    }
    return {};
}

}  // namespace

namespace {

/// Whether a parameter points into the memory of another simulated device of the process, which the record
/// does not hold.
bool points_to_another_device(const LaunchRecord& record) {
    using memory::Arena;
    constexpr std::uint64_t end = Arena::fixed_base + Arena::slots * Arena::slot_bytes;
    if (!record.gpu) return false;
    for (const auto& parameter : record.gpu->parameters) {
        std::uint64_t address = 0;
        if (!parameter.is_address || parameter.offset + sizeof address > record.parameters.size()) continue;
        std::memcpy(&address, record.parameters.data() + parameter.offset, sizeof address);
        const bool is_simulated = address >= Arena::fixed_base && address < end;
        if (is_simulated && address / Arena::slot_bytes != record.memory_base / Arena::slot_bytes)
            return true;
    }
    return false;
}

}  // namespace

records::GpuLaunch gpu_launch_of(const LaunchRecord& record, std::vector<std::size_t>& indices) {
    const auto extents = [](const execution::Dim3& dim) {
        return std::array<std::uint32_t, 3>{dim.x, dim.y, dim.z};
    };
    records::GpuLaunch launch{.number = record.number,
                              .kernel = record.display_name,
                              .grid = extents(record.configuration.grid),
                              .block = extents(record.configuration.block),
                              .dynamic_shared_bytes = record.configuration.dynamic_shared_bytes,
                              .parameters = record.parameters,
                              .simulated_error = first_error(record.outcome)};
    indices.clear();
    for (std::size_t i = 0; i < record.memory.size(); ++i) {
        const auto& range = record.memory[i];
        if (!range.before || range.kind == MemoryKind::freed) continue;
        if (range.kind == MemoryKind::adopted)
            launch.refusal =
                "it can reach host memory that the program has registered (cuMemHostRegister), "
                "which a record cannot give to a GPU";
        indices.push_back(i);
    }
    if (points_to_another_device(record))
        launch.refusal = "a parameter points to the memory of another device, which the record does not hold";
    if (record.configuration.cluster_blocks() > 1)
        launch.refusal = "it asks for clusters of several blocks, which records do not give to a GPU";
    std::ranges::sort(indices, {}, [&](std::size_t i) { return record.memory[i].address; });
    for (const std::size_t i : indices)
        launch.memory.push_back({.address = record.memory[i].address,
                                 .bytes = record.memory[i].bytes,
                                 .label = record.memory[i].label});
    for (std::size_t i = 0; i < indices.size(); ++i)
        launch.memory[i].holds_addresses = holds_addresses(record.memory[indices[i]], launch.memory);
    return launch;
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
