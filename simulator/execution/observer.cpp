// See observer.h: the list of observers.
#include "simulator/execution/observer.h"

#include <algorithm>
#include <stdexcept>

namespace cudasim::execution {

void ObserverList::add(LaunchObserver& observer) {
    if (std::ranges::find(observers_, &observer) != observers_.end())
        throw std::invalid_argument("an observer is added twice");
    const auto state = observer.sets_check_state();
    if (state && std::ranges::find(observers_, state, &LaunchObserver::sets_check_state) != observers_.end())
        throw std::invalid_argument(
            "two observers of a launch set the same one of ObservedBlock::check_states");
    observers_.push_back(&observer);
}

void ObserverList::remove(LaunchObserver& observer) {
    std::erase(observers_, &observer);
}

void ObserverList::launch_begins(const LaunchBegin& launch) const {
    for (LaunchObserver* each : observers_) each->launch_begins(launch);
}

void ObserverList::adds_findings(ObserverFindings& findings) const {
    for (LaunchObserver* each : observers_) each->adds_findings(findings);
}

void ObserverList::launch_ends(std::span<const findings::Finding> findings) const {
    for (LaunchObserver* each : observers_) each->launch_ends(findings);
}

void ObserverList::block_begins(ObservedBlock& block) const {
    for (LaunchObserver* each : observers_) {
        auto states = block.check_states;
        each->block_begins(block);
        if (const auto state = each->sets_check_state()) states[*state] = block.check_states[*state];
        block.check_states = states;
    }
}

void ObserverList::barrier(const ObservedBlock& block, jit::BarrierKind kind) const {
    for (LaunchObserver* each : observers_) each->barrier(block, kind);
}

void ObserverList::named_barrier(const ObservedBlock& block, const CompletedBarrier& barrier) const {
    for (LaunchObserver* observer : observers_) observer->named_barrier(block, barrier);
}

void ObserverList::cluster_barrier(std::span<const ObservedBlock> blocks) const {
    for (LaunchObserver* each : observers_) each->cluster_barrier(blocks);
}

void ObserverList::block_ends(const ObservedBlock& block, BlockEnd end) const {
    for (LaunchObserver* each : observers_) each->block_ends(block, end);
}

void ObserverList::allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) const {
    for (LaunchObserver* each : observers_) each->allocated(address, bytes, label);
}

void ObserverList::freed(std::uint64_t address) const {
    for (LaunchObserver* each : observers_) each->freed(address);
}

void ObserverList::copies(const ObservedCopy& copy) const {
    for (LaunchObserver* each : observers_) each->copies(copy);
}

}  // namespace cudasim::execution
