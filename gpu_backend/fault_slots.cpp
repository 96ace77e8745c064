// See fault_slots.h.
#include "gpu_backend/fault_slots.h"

#include <algorithm>
#include <cstring>

#include "simulator/findings/messages.h"

namespace cudasim::gpu_backend {
namespace {

using findings::Finding;
using findings::FindingKind;

/// Of the thread that wrote a word.
std::uint64_t number_in(std::uint64_t word) {
    return fault_thread_mask - (word >> fault_piece_bits);
}

findings::Dim3 coordinates_of(std::uint64_t index, const findings::Dim3& extents) {
    return {static_cast<std::uint32_t>(index % extents.x),
            static_cast<std::uint32_t>(index / extents.x % extents.y),
            static_cast<std::uint32_t>(index / extents.x / extents.y)};
}

findings::ThreadCoordinate thread_of(std::uint64_t number, const findings::Dim3& grid,
                                     const findings::Dim3& block) {
    const std::uint64_t block_index = number / block.volume(), thread = number % block.volume();
    return {block_index, static_cast<std::uint32_t>(thread), coordinates_of(block_index, grid),
            coordinates_of(thread, block)};
}

std::string message_of(const FaultSite& site, const std::array<std::uint64_t, fault_arguments>& arguments) {
    if (site.kind != FindingKind::out_of_bounds_index && site.kind != FindingKind::negative_index)
        return site.message;
    const findings::IndexFault fault{
        static_cast<std::int64_t>(arguments[0]), static_cast<std::int64_t>(arguments[1]),
        static_cast<std::int32_t>(arguments[2]), site.check == "check_unsigned_index"};
    return site.kind == FindingKind::negative_index ? findings::wrapped_index(fault)
                                                    : findings::index_out_of_bounds(fault);
}

[[noreturn]] void refuse(std::size_t site, const std::string& what) {
    throw DamagedFaultSlots("slot " + std::to_string(site) + " of '" + fault_variable + "' " + what +
                            ": the kernel has written over it, or the memory is another launch's");
}

/// What the lowest thread wrote. @throws DamagedFaultSlots
std::array<std::uint64_t, fault_arguments> arguments_in(const FaultSlot& slot, const FaultSite& site,
                                                        std::size_t index) {
    std::array<std::uint64_t, fault_arguments> arguments{};
    for (std::size_t i = 0; i < fault_arguments; ++i) {
        if (site.arguments[i]) {
            arguments[i] = *site.arguments[i];
            continue;
        }
        for (unsigned piece = 0; piece < fault_pieces; ++piece) {
            const std::uint64_t word = slot.words[i][piece];
            if (number_in(word) != number_in(slot.words[0][0]))
                refuse(index, "has the values of several threads");
            arguments[i] |= (word & ((1U << fault_piece_bits) - 1)) << (fault_piece_bits * piece);
        }
    }
    return arguments;
}

bool same_place(const Finding& a, const Finding& b) {
    return a.kind == b.kind && a.exception_type == b.exception_type && a.location == b.location;
}

/// As simulator/execution/finding_collector.h does it.
void add(std::vector<Finding>& all, Finding finding) {
    const auto known = std::ranges::find_if(all, [&](const Finding& f) { return same_place(f, finding); });
    if (known == all.end()) {
        all.push_back(std::move(finding));
        return;
    }
    const std::uint64_t count = known->count + finding.count;
    if (finding.thread < known->thread) *known = std::move(finding);
    known->count = known->threads = count;
}

}  // namespace

std::vector<Finding> faults_of(std::span<const std::byte> slots, std::span<const FaultSite> sites,
                               std::string_view kernel, const findings::Dim3& grid,
                               const findings::Dim3& block) {
    std::vector<Finding> all;
    if (slots.empty()) return all;
    if (slots.size() != sites.size() * sizeof(FaultSlot)) {
        throw DamagedFaultSlots("'" + std::string(fault_variable) + "' has " + std::to_string(slots.size()) +
                                " bytes, and " + std::to_string(sites.size()) + " sites need " +
                                std::to_string(sites.size() * sizeof(FaultSlot)));
    }
    for (std::size_t i = 0; i < sites.size(); ++i) {
        FaultSlot slot;
        std::memcpy(&slot, slots.data() + i * sizeof slot, sizeof slot);
        if (slot.threads == 0 && slot.words[0][0] == 0) continue;
        const std::uint64_t number = number_in(slot.words[0][0]);
        if (slot.threads == 0 || slot.words[0][0] == 0 || number / block.volume() >= grid.volume() ||
            slot.threads / block.volume() > grid.volume())
            refuse(i, "names threads that the launch does not have");
        Finding finding;
        finding.kind = sites[i].kind;
        finding.severity = findings::Severity::error;
        finding.message = message_of(sites[i], arguments_in(slot, sites[i], i));
        finding.exception_type = sites[i].exception_type;
        finding.kernel = kernel;
        finding.thread = thread_of(number, grid, block);
        finding.location = sites[i].location;
        finding.count = finding.threads = slot.threads;
        add(all, std::move(finding));
    }
    std::ranges::stable_sort(all, {}, [](const Finding& finding) { return finding.thread; });
    return all;
}

}  // namespace cudasim::gpu_backend
