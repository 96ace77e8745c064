// See init_observer.h.
#include "simulator/checks/init_observer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "simulator/checks/finding_text.h"
#include "simulator/checks/shadow_window.h"

namespace cudasim::checks {

namespace {

using findings::Finding;
using findings::FindingKind;

/// Places that one launch can have uses at; a power of two.
constexpr std::size_t most_places = 4096;

/// Of one allocation, before the shadow is there. One that is written in more pieces counts as written.
constexpr std::size_t most_ranges = 1 << 16;

std::string use_text(ValueUse use) {
    switch (use) {
        case ValueUse::operand:
            return "is an operand of an operation";
        case ValueUse::comparison:
            return "is compared";
        case ValueUse::branch:
            return "decides a branch";
        case ValueUse::address:
            return "is part of an address or an index";
        case ValueUse::atomic:
            return "is used by an atomic operation";
        case ValueUse::argument:
            return "is passed to a function";
        case ValueUse::printing:
            return "is printed";
        case ValueUse::result:
            return "is the result of a function";
    }
    return "is used";
}

}  // namespace

void InitObserver::launch_unchecked() {
    const std::lock_guard lock(mutex_);
    ++launches_unchecked_;
}

void InitObserver::shared_with_others(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    if (Allocation* allocation = allocation_at(address)) {
        allocation->written = true;
        if (shadow_) shadow_->set_written(address, allocation->bytes);
    }
}

/// Whether it may have been written by a launch that nobody has taken account of.
bool InitObserver::is_stale(std::uint64_t address) {
    const Allocation* allocation = allocation_at(address);
    return allocation != nullptr && allocation->launches < launches_unchecked_ &&
           launches_known_ < launches_unchecked_;
}

InitObserver::Allocation* InitObserver::allocation_at(std::uint64_t address) {
    auto behind = allocations_.upper_bound(address);
    if (behind == allocations_.begin()) return nullptr;
    --behind;
    return address - behind->first < behind->second.bytes ? &behind->second : nullptr;
}

void InitObserver::look() {
    const bool is_new = !shadow_;
    if (is_new) {
        const ShadowWindow window = shadow_window(memory_base_);
        shadow_ = std::make_unique<InitShadow>(window.low, window.bytes);
        static_cast<InitWindow&>(state_) = shadow_->window();
        state_.observer = this;
        state_.shadow_of_window = shadow_.get();
        places_.resize(most_places);
    }
    if (!is_new && launches_known_ == launches_unchecked_) return;
    for (const auto& [address, allocation] : allocations_) {
        const bool is_stale =
            allocation.launches < launches_unchecked_ && (is_new || launches_known_ < launches_unchecked_);
        if (is_stale || (is_new && allocation.written))
            shadow_->set_written(address, allocation.bytes);
        else if (is_new)
            allocation.ranges.for_each_in(
                address, address + allocation.bytes,
                [&](std::uint64_t first, std::uint64_t end) { shadow_->set_written(first, end - first); });
    }
    launches_known_ = launches_unchecked_;
}

void InitObserver::allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) {
    const std::lock_guard lock(mutex_);
    allocations_[address] = {.bytes = bytes, .label = std::string(label), .launches = launches_unchecked_};
    if (shadow_) shadow_->set_unwritten(address, bytes);
}

std::byte* InitObserver::states_at(std::uint64_t address, std::uint64_t bytes) {
    if (!shadow_ || shadow_->window().bytes == 0 || bytes == 0) return nullptr;
    if (shadow_->covers(address) && shadow_->covers(address + bytes - 1)) return shadow_->states(address);
    return host_memory_.states(address, bytes);
}

/// A compare-and-swap that does not write counts as a write, too, as in compiled code.
void InitObserver::access(execution::ThreadHandle& thread, const execution::ObservedAccess& access) {
    using execution::AccessKind;
    if (access.kind == AccessKind::read && !access.compares) return;
    bool is_used = false;
    {
        const std::lock_guard lock(mutex_);
        const bool looks = access.compares || (access.kind == AccessKind::update && !access.drops_old);
        const std::byte* states = looks ? states_at(access.address, access.bytes) : nullptr;
        is_used = states != nullptr && std::any_of(states, states + access.bytes,
                                                   [](std::byte each) { return each != std::byte{0xFF}; });
        if (shadow_) shadow_->set_written(access.address, access.bytes);
        host_memory_.set_written(access.address, access.bytes);
    }
    if (is_used) used(thread, ValueUse::atomic, {.address = access.address, .bytes = access.bytes});
}

void InitObserver::memory(execution::ThreadHandle&, const execution::ObservedMemory& memory) {
    const std::lock_guard lock(mutex_);
    host_memory_.begins(memory);
}

void InitObserver::memory_ends(const execution::ObservedMemory& memory) {
    const std::lock_guard lock(mutex_);
    host_memory_.ends(memory);
}

bool InitObserver::load_states(std::uint64_t address, std::span<std::byte> unwritten) {
    const std::lock_guard lock(mutex_);
    const std::byte* states = states_at(address, unwritten.size());
    bool any = false;
    for (std::size_t i = 0; i < unwritten.size(); ++i) {
        unwritten[i] = states != nullptr ? ~states[i] : std::byte{0};
        any |= unwritten[i] != std::byte{0};
    }
    return any;
}

void InitObserver::store_states(std::uint64_t address, std::span<const std::byte> unwritten) {
    const std::lock_guard lock(mutex_);
    std::byte* states = states_at(address, unwritten.size());
    if (states != nullptr) std::ranges::transform(unwritten, states, [](std::byte each) { return ~each; });
}

/// Of a local array nobody says which element it is, as of compiled kernels.
void InitObserver::used(execution::ThreadHandle& thread, ValueUse use, const ValueOrigin& origin) {
    const std::uint32_t site = thread.site_here();  // without the lock: Python may free memory meanwhile
    ValueOrigin known = origin;
    if (origin.bytes != 0) {
        const std::lock_guard lock(mutex_);
        if (host_memory_.is_local(origin.address)) known.address = known.bytes = 0;
    }
    used(thread.coordinate().block, thread.thread(), 0, site, use, known);
}

void InitObserver::freed(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto known = allocations_.find(address);
    if (known == allocations_.end()) return;
    if (tracks_unused_ && is_unused(address, known->second))
        unused_.push_back({known->second.label, known->second.bytes});
    allocations_.erase(known);
}

void InitObserver::track_unused() {
    const std::lock_guard lock(mutex_);
    look();
    tracks_unused_ = true;
}

bool InitObserver::is_unused(std::uint64_t address, const Allocation& allocation) const {
    return !allocation.written && allocation.ranges.empty() && allocation.launches == launches_unchecked_ &&
           !shadow_->any_written(address, allocation.bytes);
}

std::vector<InitObserver::Unused> InitObserver::unused() {
    const std::lock_guard lock(mutex_);
    look();
    std::vector<Unused> all = unused_;
    for (const auto& [address, allocation] : allocations_)
        if (is_unused(address, allocation)) all.push_back({allocation.label, allocation.bytes});
    return all;
}

void InitObserver::copies(const execution::ObservedCopy& copy) {
    using execution::CopyKind;
    if (copy.kind == CopyKind::from_device || copy.kind == CopyKind::allocation ||
        copy.kind == CopyKind::release)
        return;
    const std::lock_guard lock(mutex_);
    if (shadow_) {
        if (copy.kind == CopyKind::within_device && !is_stale(copy.source))
            shadow_->copy(copy.target, copy.source, copy.bytes);
        else
            shadow_->set_written(copy.target, copy.bytes);
    } else {
        note_copy(copy);
    }
}

void InitObserver::note_copy(const execution::ObservedCopy& copy) {
    Allocation* target = allocation_at(copy.target);
    if (target == nullptr || target->written) return;
    const std::uint64_t end = copy.target + copy.bytes;
    const Allocation* source =
        copy.kind == execution::CopyKind::within_device ? allocation_at(copy.source) : nullptr;
    if (source == nullptr || source->written || is_stale(copy.source)) {
        target->ranges.add(copy.target, end);
    } else {
        AddressRanges copied;
        source->ranges.for_each_in(
            copy.source, copy.source + copy.bytes, [&](std::uint64_t from, std::uint64_t to) {
                copied.add(from - copy.source + copy.target, to - copy.source + copy.target);
            });
        target->ranges.remove(copy.target, end);
        copied.for_each_in(copy.target, end,
                           [&](std::uint64_t from, std::uint64_t to) { target->ranges.add(from, to); });
    }
    if (target->ranges.size() <= most_ranges) return;
    target->written = true;
    target->ranges.clear();
}

InitObserver::Unwritten InitObserver::unwritten(std::uint64_t address, std::uint64_t bytes,
                                                std::uint64_t element_bytes, const std::vector<bool>& holes) {
    const std::lock_guard lock(mutex_);
    look();
    Unwritten result;
    const std::uint64_t end = address + bytes;
    for (std::uint64_t from = address; from < end;) {
        const auto found = shadow_->first_unwritten(from, end - from);
        if (!found) break;
        if (!holes.empty() && holes[(*found - address) % element_bytes]) {
            from = *found + 1;
            continue;
        }
        const std::uint64_t element = (*found - address) / element_bytes;
        if (result.elements++ == 0) result.first = element;
        from = address + (element + 1) * element_bytes;
    }
    return result;
}

void InitObserver::launch_begins(const execution::LaunchBegin&) {
    const std::lock_guard lock(mutex_);
    look();
    host_memory_.clear();
    if (places_used_ != 0) std::ranges::fill(places_, Place{});
    places_used_ = 0;
}

void InitObserver::block_begins(execution::ObservedBlock& block) {
    shadow_->set_unwritten(reinterpret_cast<std::uint64_t>(block.shared.data()), block.shared.size());
    block.check_states[jit::init_state] = static_cast<InitWindow*>(&state_);
}

void InitObserver::used(std::uint64_t block, std::uint32_t thread, std::uint64_t shared, std::uint32_t site,
                        ValueUse use, const ValueOrigin& origin) {
    while (places_lock_.test_and_set(std::memory_order_acquire)) {
    }
    std::size_t at = site * std::size_t{0x9E3779B1} % most_places;
    while (places_[at].used && places_[at].site != site) at = (at + 1) % most_places;
    Place& place = places_[at];
    if (place.used || places_used_ < most_places / 2) {
        if (!place.used) ++places_used_;
        if (!place.used || std::tie(block, thread) < std::tie(place.block, place.thread)) {
            const std::uint64_t count = place.count;
            place = {.site = site,
                     .used = true,
                     .use = use,
                     .thread = thread,
                     .block = block,
                     .shared = shared,
                     .count = count,
                     .origin = origin};
        }
        ++place.count;
    }
    places_lock_.clear(std::memory_order_release);
}

std::string InitObserver::text_of_use(const Place& place,
                                      const std::optional<findings::MemoryObject>& object) {
    if (place.origin.shuffle_line != 0)
        return "what the warp shuffle in line " + std::to_string(place.origin.shuffle_line) + " gave " +
               use_text(place.use) +
               ", and the lane that it is from has ended, takes no part in it, or has an uninitialised value";
    return (object ? object_text(object, place.origin.address)
                   : std::string("a value in a local variable or register")) +
           " " + use_text(place.use) + ", and nothing was written there";
}

void InitObserver::adds_findings(execution::ObserverFindings& findings) {
    for (const Place& place : places_) {
        if (!place.used) continue;
        Finding finding;
        finding.kind = FindingKind::uninitialised_value;
        finding.severity = findings::info(finding.kind).severity;
        finding.thread = findings.coordinate(place.block, place.thread);
        finding.location = findings.place(place.site);
        finding.count = place.count;
        if (place.origin.bytes != 0) finding.object = findings.object(place.origin.address, place.shared);
        finding.message = "uninitialised value: " + text_of_use(place, finding.object);
        findings.add(std::move(finding));
    }
    if (shadow_->window().bytes != 0) return;
    Finding finding;
    finding.kind = FindingKind::init_checks_off;
    finding.severity = findings::info(finding.kind).severity;
    finding.message =
        "uninitialised values were not looked for: the process may not reserve the address space for it "
        "(ulimit -v)";
    findings.add(std::move(finding));
}

}  // namespace cudasim::checks
