// See race_observer.h.
#include "simulator/checks/race_observer.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "simulator/checks/finding_text.h"
#include "simulator/checks/shadow_window.h"

namespace cudasim::checks {

namespace {

RaceDetector::Block& state_of(const execution::ObservedBlock& block) {
    return *static_cast<RaceDetector::Block*>(block.check_states[jit::race_state]);
}

using findings::Finding;
using findings::FindingKind;
using findings::MemoryObject;

std::string scope_text(AtomicScope scope) {
    return scope == AtomicScope::block ? " of block scope" : " of device scope";
}

std::string access_text(const RaceSide& side, bool with_scope) {
    if (side.kind == AccessClass::atomic)
        return "atomic operation" + (with_scope ? scope_text(side.scope) : std::string());
    return std::string(side.is_volatile ? "volatile " : "") +
           (side.kind == AccessClass::write ? "write" : "read");
}

std::string cure(const Race& race) {
    switch (race.cause) {
        case RaceCause::no_barrier:
            return "no barrier of the block between them";
        case RaceCause::no_warp_barrier:
            return "no barrier of the block or the warp between them: the lanes of a warp need not run in "
                   "lockstep";
        case RaceCause::no_order:
            return "nothing orders the blocks: there is no barrier for them but those of the grid and of "
                   "their cluster, and no fence with an atomic operation that the other one waits for";
        case RaceCause::not_atomic:
            return "one of the two is an atomic operation, and nothing orders the other one: either it has "
                   "to be atomic, too, or a fence with another atomic operation has to come in between";
        case RaceCause::narrow_scope:
            return "the scope is too narrow: an atomic operation of block scope is atomic for the threads of "
                   "its own block only";
        case RaceCause::lock_without_fence:
            return "the lock is taken without a fence: after the compare-and-swap that takes it a fence is "
                   "missing";
        case RaceCause::no_barrier_before:
            return "no barrier of the block between the first and the fence and atomic operation with which "
                   "another thread of its block says that it is done";
        case RaceCause::fence_missing:
            return "a fence is missing in front of the atomic operation that says that it is done";
        case RaceCause::fence_too_narrow:
            return "the fence is too narrow: one of block scope orders memory for the threads of its own "
                   "block "
                   "only";
        case RaceCause::copy_pending:
            return "the asynchronous copy may not be complete: its thread has to wait for it "
                   "(cp.async.wait_group "
                   "or wait_all) before, and other threads have to meet that thread at a barrier behind the "
                   "wait";
        case RaceCause::block_ends:
            return "nothing orders the end of that block behind it, and with the block its shared memory "
                   "ends: "
                   "a barrier of the cluster is missing at the end of the kernel";
    }
    return "";
}

template <typename Number>
std::optional<std::string> as_number(std::uint64_t value, std::uint32_t bytes) {
    if (bytes != sizeof(Number)) return std::nullopt;
    Number number{};
    std::memcpy(&number, &value, sizeof number);
    char text[32];
    const auto written = std::to_chars(std::begin(text), std::end(text), number);
    return std::string(std::begin(text), written.ptr);
}

/// A value of the type that the object's elements have; its bits where that is not known, or the access is
/// not to an element.
std::string value_text(std::uint64_t value, std::uint32_t bytes, const std::optional<MemoryObject>& object) {
    const std::string type = object ? object->element_type : std::string();
    std::optional<std::string> text;
    if (type == "float32") text = as_number<float>(value, bytes);
    if (type == "float64") text = as_number<double>(value, bytes);
    if (type == "int8") text = as_number<std::int8_t>(value, bytes);
    if (type == "int16") text = as_number<std::int16_t>(value, bytes);
    if (type == "int32") text = as_number<std::int32_t>(value, bytes);
    if (type == "int64") text = as_number<std::int64_t>(value, bytes);
    if (type == "uint8") text = as_number<std::uint8_t>(value, bytes);
    if (type == "uint16") text = as_number<std::uint16_t>(value, bytes);
    if (type == "uint32") text = as_number<std::uint32_t>(value, bytes);
    if (type == "uint64") text = as_number<std::uint64_t>(value, bytes);
    return text ? *text : hexadecimal(value, bytes);
}

std::string pairs_text(const Race& race, const char* one, const char* several) {
    return " (" + std::to_string(race.pairs) + (race.pairs == 1 ? one : several) + ", " +
           std::to_string(race.pair_bytes) + (race.pair_bytes == 1 ? " byte)" : " bytes)");
}

/// Where shared memory is another block's of the cluster, whose it is.
std::string owner_text(const Race& race, std::uint64_t accessed_by,
                       const execution::ObserverFindings& launch) {
    if (race.shared_low == 0 || race.shared_block == accessed_by) return "";
    const std::string block = findings::coordinates(launch.coordinate(race.shared_block, 0));
    return " of " + block.substr(block.find("ctaid"));
}

/// An access to shared memory of a block that may have ended.
Finding finding_of_end(const Race& race, const execution::ObserverFindings& launch) {
    Finding finding;
    finding.kind = FindingKind::data_race;
    finding.severity = findings::info(finding.kind).severity;
    finding.object = launch.object(race.address, race.shared_low);
    finding.thread = launch.coordinate(race.first.block, race.first.thread);
    finding.location = launch.place(race.first.site);
    finding.count = race.pairs;
    finding.message = "data race: " + access_text(race.first, false) + " of " +
                      object_text(finding.object, race.address) + owner_text(race, race.first.block, launch) +
                      "; " + cure(race) + pairs_text(race, " access", " accesses");
    return finding;
}

Finding finding_of(const Race& race, const execution::ObserverFindings& launch) {
    if (race.cause == RaceCause::block_ends) return finding_of_end(race, launch);
    const bool is_note = race.equal_writes == race.pairs;
    Finding finding;
    finding.kind = is_note ? FindingKind::equal_writes : FindingKind::data_race;
    finding.severity = findings::info(finding.kind).severity;
    finding.object = launch.object(race.address, race.shared_low);
    const bool scopes = race.cause == RaceCause::narrow_scope;
    for (const RaceSide* side : {&race.first, &race.second})
        finding.accesses.push_back({access_text(*side, scopes), launch.coordinate(side->block, side->thread),
                                    launch.place(side->site), ""});
    finding.accesses[0].value = race.first.kind == AccessClass::write && race.bytes != 0
                                    ? value_text(race.old_value, race.bytes, finding.object)
                                    : "";
    if (race.second.kind == AccessClass::read)
        finding.accesses[1].value = value_text(race.old_value, race.bytes, finding.object);
    else if (race.has_new_value)
        finding.accesses[1].value = value_text(race.new_value, race.bytes, finding.object);
    finding.thread = finding.accesses[1].thread;
    finding.location = finding.accesses[1].location;
    finding.count = race.pairs;
    finding.message = (is_note ? "equal values are written by several threads: " : "data race: ") +
                      finding.accesses[1].what + " of " + object_text(finding.object, race.address) +
                      owner_text(race, race.second.block, launch) + ", and " + finding.accesses[0].what +
                      " by " + findings::coordinates(finding.accesses[0].thread) +
                      place_text(finding.accesses[0].location) + "; " + cure(race) +
                      pairs_text(race, " pair", " pairs");
    return finding;
}

}  // namespace

RaceObserver::RaceObserver(std::uint64_t memory_base)
    : shadow_(shadow_window(memory_base).low, shadow_window(memory_base).bytes),
      detector_(shadow_),
      between_streams_(shadow_, detector_) {}

void RaceObserver::launch_begins(const execution::LaunchBegin& launch) {
    blocks_.clear();
    sites_ = 0;
    between_streams_.launch_begins(launch);
    detector_.launch_begins(model_);
}

void RaceObserver::block_begins(execution::ObservedBlock& block) {
    RaceDetector::Block& state =
        detector_.block_begins(block.block, block.threads,
                               reinterpret_cast<std::uint64_t>(block.shared.data()), block.shared.size());
    blocks_[block.block] = &state;
    block.check_states[jit::race_state] = &state;
}

void RaceObserver::barrier(const execution::ObservedBlock& block, jit::BarrierKind kind) {
    if (kind == jit::BarrierKind::grid)
        detector_.grid_barrier(state_of(block));
    else
        detector_.block_barrier(state_of(block));
}

void RaceObserver::named_barrier(const execution::ObservedBlock& block,
                                 const execution::CompletedBarrier& barrier) {
    std::vector<std::uint32_t> came;
    for (std::uint32_t thread = 0; thread < barrier.arrivals.size(); ++thread)
        if (barrier.arrivals[thread] != 0) came.push_back(thread);
    detector_.named_barrier(state_of(block), came, barrier.waiting);
}

void RaceObserver::cluster_barrier(std::span<const execution::ObservedBlock> blocks) {
    std::vector<RaceDetector::Block*> states;
    for (const execution::ObservedBlock& block : blocks) states.push_back(&state_of(block));
    detector_.cluster_barrier(states);
}

void RaceObserver::block_ends(const execution::ObservedBlock& block, execution::BlockEnd end) {
    blocks_.erase(block.block);
    if (end == execution::BlockEnd::finished) detector_.compare_end(state_of(block));
    detector_.block_ends(state_of(block));
}

void RaceObserver::allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) {
    shadow_.add_range(address, bytes);
    between_streams_.allocated(address, bytes, label);
}

void RaceObserver::copies(const execution::ObservedCopy& copy) {
    between_streams_.copies(copy);
}

void RaceObserver::freed(std::uint64_t address) {
    between_streams_.freed(address);
    shadow_.remove_range(address);
}

void RaceObserver::access(execution::ThreadHandle& thread, const execution::ObservedAccess& access) {
    using execution::AccessKind;
    const auto block = blocks_.find(thread.coordinate().block);
    const bool is_unknown = access.kind == AccessKind::view;  // NumPy may do anything with it, or nothing
    if (is_unknown || block == blocks_.end() || !shadow_.covers(access.address)) return;
    const std::uint32_t site = thread.site_here();
    sites_ = std::max(sites_, site + 1);
    if (access.order != jit::MemoryOrder::plain) {
        AtomicAccess atomic;
        atomic.address = access.address;
        atomic.bytes = static_cast<std::uint32_t>(access.bytes);
        atomic.kind = access.compares                    ? AtomicKind::compare_and_swap
                      : access.kind == AccessKind::read  ? AtomicKind::load
                      : access.kind == AccessKind::write ? AtomicKind::store
                                                         : AtomicKind::update;
        atomic.wrote = access.kind != AccessKind::read;
        atomic.scope = atomic_scope(access.scope, false);
        atomic.order = access.order;
        atomic.site = site;
        detector_.atomic(*block->second, thread.thread(), atomic);
        return;
    }
    PlainAccess plain;
    plain.address = access.address;
    plain.bytes = access.bytes;
    plain.writes = access.kind != AccessKind::read;
    plain.is_volatile = access.is_volatile;
    plain.site = site;
    if (access.written != nullptr && access.bytes <= sizeof plain.value) {
        plain.written = WrittenValue::number;
        std::memcpy(&plain.value, access.written, access.bytes);
    } else if (access.written != nullptr) {
        plain.written = WrittenValue::address;
        plain.value = reinterpret_cast<std::uint64_t>(access.written);
    }
    detector_.access(*block->second, thread.thread(), plain);
}

void RaceObserver::memory(execution::ThreadHandle&, const execution::ObservedMemory& memory) {
    if (memory.space == execution::MemorySpace::shared)
        shadow_.add_range(memory.address, memory.bytes);
    else
        shadow_.remove_range(memory.address, memory.bytes);
}

void RaceObserver::fence(execution::ThreadHandle& thread, jit::MemoryOrder order, image::Scope scope) {
    const auto block = blocks_.find(thread.coordinate().block);
    if (block != blocks_.end()) detector_.fence(*block->second, thread.thread(), order, scope);
}

void RaceObserver::lane_comes(execution::ThreadHandle& thread, jit::WarpKind kind, std::uint32_t mask) {
    const auto block = blocks_.find(thread.coordinate().block);
    if (block != blocks_.end() && kind == jit::WarpKind::sync)
        detector_.warp_barrier(*block->second, thread.thread(), mask);
}

void RaceObserver::adds_findings(execution::ObserverFindings& findings) {
    between_streams_.launch_ends(findings, std::max(sites_, findings.sites()));
    for (const Race& race : detector_.launch_ends()) findings.add(finding_of(race, findings));
    if (!detector_.exhausted()) return;
    Finding finding;
    finding.kind = FindingKind::race_checks_ended;
    finding.severity = findings::info(finding.kind).severity;
    finding.message =
        "races were looked for until the launch had begun 2^32 periods between barriers, and not after that";
    findings.add(std::move(finding));
}

}  // namespace cudasim::checks
