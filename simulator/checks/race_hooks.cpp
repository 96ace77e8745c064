// Unlike the engine's hooks these allocate: races are looked for on one worker, so no other thread can hold
// the allocator's lock for long, and nothing switches away from the thread in here.
#include "simulator/checks/race_hooks.h"

#include <algorithm>
#include <array>

#include "simulator/checks/race_state.h"
#include "simulator/jit/abi.h"

namespace cudasim::checks {

namespace {

using jit::ThreadContext;

RaceDetector::Block* block_of(const ThreadContext* context) {
    return static_cast<RaceDetector::Block*>(context->block->check_states[jit::race_state]);
}

/// Local memory cannot.
bool can_race(const RaceDetector::Block& block, std::uint64_t address) {
    return address - block.shared_low < block.shared_bytes || block.detector->shadow().covers(address);
}

extern "C" {

void cudasim_hook_race_access(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                              std::uint32_t flags, std::uint64_t value, std::uint32_t) {
    RaceDetector::Block* block = block_of(context);
    if (block == nullptr || !can_race(*block, address)) return;
    PlainAccess access;
    access.address = address;
    access.bytes = bytes;
    access.writes = (flags & plain_writes) != 0;
    access.is_volatile = (flags & plain_volatile) != 0;
    access.barriers_only = (flags & plain_barriers_only) != 0;
    access.is_decided = (flags & plain_is_decided) != 0;
    access.is_message = (flags & plain_is_message) != 0;
    access.site = flags & site_mask;
    access.written = static_cast<WrittenValue>(flags >> plain_value_shift & 3U);
    access.value = value;
    block->detector->access(*block, context->thread, access);
}

void cudasim_hook_race_atomic(ThreadContext* context, std::uint64_t address, std::uint32_t bytes,
                              std::uint32_t flags, std::uint32_t wrote, std::uint32_t) {
    RaceDetector::Block* block = block_of(context);
    if (block == nullptr || !can_race(*block, address)) return;
    AtomicAccess access;
    access.address = address;
    access.bytes = bytes;
    access.kind = static_cast<AtomicKind>(flags >> atomic_kind_shift & 3U);
    access.scope = static_cast<AtomicScope>(flags >> atomic_scope_shift & 3U);
    access.order = static_cast<jit::MemoryOrder>(flags >> atomic_order_shift & 7U);
    access.barriers_only = (flags & atomic_barriers_only) != 0;
    access.is_flag = (flags & atomic_is_flag) != 0;
    access.waits = (flags & atomic_waits) != 0;
    access.is_verified = (flags & atomic_is_verified) != 0;
    access.site = flags & site_mask;
    access.wrote = wrote != 0;
    block->detector->atomic(*block, context->thread, access);
}

void cudasim_hook_race_fence(ThreadContext* context, std::uint32_t order, std::uint32_t scope,
                             std::uint32_t) {
    if (RaceDetector::Block* block = block_of(context))
        block->detector->fence(*block, context->thread, static_cast<jit::MemoryOrder>(order),
                               static_cast<image::Scope>(scope));
}

void cudasim_hook_race_warp(ThreadContext* context, std::uint32_t mask, std::uint32_t) {
    if (RaceDetector::Block* block = block_of(context))
        block->detector->warp_barrier(*block, context->thread, mask);
}

void cudasim_hook_race_copy(ThreadContext* context, std::uint64_t target, std::uint64_t source,
                            std::uint32_t bytes, std::uint32_t source_bytes, std::uint32_t access_site,
                            std::uint32_t) {
    RaceDetector::Block* block = block_of(context);
    if (block == nullptr || !can_race(*block, target)) return;
    block->detector->copy_begins(
        *block, context->thread,
        {target, can_race(*block, source) ? source : 0, bytes, std::min(source_bytes, bytes), access_site});
}

void cudasim_hook_race_copy_commit(ThreadContext* context, std::uint32_t) {
    if (RaceDetector::Block* block = block_of(context))
        block->detector->copies_are_group(*block, context->thread);
}

void cudasim_hook_race_copy_wait(ThreadContext* context, std::uint32_t groups, std::uint32_t) {
    if (RaceDetector::Block* block = block_of(context))
        block->detector->waits_for_copies(*block, context->thread, groups);
}

}  // extern "C"

}  // namespace

std::span<const jit::HookAddress> race_hooks() {
    static const std::array hooks{
        jit::HookAddress{"cudasim_hook_race_access", reinterpret_cast<void*>(cudasim_hook_race_access)},
        jit::HookAddress{"cudasim_hook_race_atomic", reinterpret_cast<void*>(cudasim_hook_race_atomic)},
        jit::HookAddress{"cudasim_hook_race_fence", reinterpret_cast<void*>(cudasim_hook_race_fence)},
        jit::HookAddress{"cudasim_hook_race_warp", reinterpret_cast<void*>(cudasim_hook_race_warp)},
        jit::HookAddress{"cudasim_hook_race_copy", reinterpret_cast<void*>(cudasim_hook_race_copy)},
        jit::HookAddress{"cudasim_hook_race_copy_commit",
                         reinterpret_cast<void*>(cudasim_hook_race_copy_commit)},
        jit::HookAddress{"cudasim_hook_race_copy_wait",
                         reinterpret_cast<void*>(cudasim_hook_race_copy_wait)}};
    return hooks;
}

}  // namespace cudasim::checks
