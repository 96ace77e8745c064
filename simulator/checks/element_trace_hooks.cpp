// These run on simulated threads, behind the access: memory holds what it has written. They neither allocate
// nor lock.
#include "simulator/checks/element_trace_hooks.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "simulator/checks/element_trace_state.h"
#include "simulator/jit/abi.h"

namespace cudasim::checks {

namespace {

using jit::ThreadContext;

TraceBlock* block_of(const ThreadContext* context) {
    return static_cast<TraceBlock*>(context->block->check_states[jit::race_state]);
}

struct Access {
    std::uint64_t address, bytes;
    std::uint32_t kind, site;
    const std::uint32_t* sources;
    std::array<std::uint64_t, 2> result;
};

void keep(TraceBlock& block, std::uint32_t thread, const Access& access, std::size_t index) {
    TraceState& state = *block.state;
    TraceState::Element& element = state.elements[index];
    WriteEntry& write = state.writes[state.slot(index, element.writes)];
    write.order = state.order;
    write.number = element.writes++;
    write.block = block.block;
    write.thread = thread;
    write.site = access.site;
    write.access_address = access.address;
    write.access_bytes = access.bytes;
    write.address = std::max(access.address, element.address);
    write.bytes = std::min(access.address + access.bytes, element.address + element.bytes) - write.address;
    write.shared_low = block.shared_low;
    std::memcpy(write.value.data(), reinterpret_cast<const void*>(write.address),
                std::min<std::size_t>(write.bytes, write.value.size()));
    static_assert(sizeof write.result == sizeof access.result);
    std::memcpy(write.result.data(), access.result.data(), sizeof write.result);
    write.kind = access.kind;
    write.reads = block.counts[thread];
    write.mark = block.marks[thread];
    write.sources = access.sources;
    std::memcpy(write.ring.data(), block.rings + std::size_t{thread} * most_traced_reads,
                std::min(write.reads, most_traced_reads) * sizeof(ReadEntry));
}

extern "C" {

/// A read that is too long for the code in line. @param value_at where its first bytes are now
void cudasim_hook_traced_read(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                              std::uint64_t what, std::uint64_t value_at, std::uint32_t) {
    TraceBlock* block = block_of(context);
    if (block == nullptr || bytes == 0) return;
    const std::uint32_t number = block->counts[context->thread]++;
    ReadEntry& entry =
        block->rings[std::size_t{context->thread} * most_traced_reads + number % most_traced_reads];
    entry.address = address;
    entry.what = what | std::min(bytes, most_read_bytes) << read_bytes_shift;
    std::memcpy(entry.value.data(), reinterpret_cast<const void*>(value_at),
                std::min<std::size_t>(bytes, entry.value.size()));
}

void cudasim_hook_traced_write(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                               std::uint32_t kind, const std::uint32_t* sources, std::uint64_t result_low,
                               std::uint64_t result_high, std::uint32_t site) {
    TraceBlock* block = block_of(context);
    if (block == nullptr || bytes == 0) return;
    TraceState& state = *block->state;
    // The first element that may reach beyond `address`.
    auto element = std::ranges::partition_point(state.elements, [&](const TraceState::Element& each) {
        return each.address + state.longest <= address;
    });
    bool hit = false;
    for (; element != state.elements.end() && element->address < address + bytes; ++element) {
        if (element->address + element->bytes <= address) continue;
        keep(*block, context->thread, {address, bytes, kind, site, sources, {result_low, result_high}},
             static_cast<std::size_t>(element - state.elements.begin()));
        hit = true;
    }
    if (!hit) return;
    ++state.order;
    block->marks[context->thread] = block->counts[context->thread];
}

}  // extern "C"

}  // namespace

std::span<const jit::HookAddress> element_trace_hooks() {
    static const std::array hooks{
        jit::HookAddress{"cudasim_hook_traced_read", reinterpret_cast<void*>(cudasim_hook_traced_read)},
        jit::HookAddress{"cudasim_hook_traced_write", reinterpret_cast<void*>(cudasim_hook_traced_write)}};
    return hooks;
}

}  // namespace cudasim::checks
