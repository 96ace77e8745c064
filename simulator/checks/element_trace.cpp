// See element_trace.h: the memory of a traced launch, and what is made of it when the launch is over.
#include "simulator/checks/element_trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "simulator/checks/element_trace_state.h"
#include "simulator/checks/value_sources.h"

namespace cudasim::checks {

namespace {

using execution::AddressRange;
using findings::CallChain;

/// About 0.7 GiB, of which only what is written takes memory.
constexpr std::uint64_t most_kept_writes = std::uint64_t{1} << 20;

std::vector<std::byte> first_bytes(std::span<const std::byte> bytes, std::uint64_t count) {
    const auto kept = bytes.first(std::min<std::size_t>(bytes.size(), count));
    return {kept.begin(), kept.end()};
}

bool on_same_line(const CallChain& a, const CallChain& b) {
    return !a.empty() && !b.empty() && a.front().line == b.front().line && a.front().file == b.front().file;
}

std::uint32_t load_of(const ReadEntry& read) {
    return static_cast<std::uint32_t>(read.what >> read_load_shift & read_load_mask);
}

/// A kept write with the reads before it.
class ReportedWrite {
  public:
    ReportedWrite(const WriteEntry& entry, const execution::ObserverFindings& launch)
        : entry_(entry), launch_(launch) {
        for (const std::uint32_t* each = entry.sources; *each != no_source; ++each)
            sources_[*each & read_load_mask] = *each;
    }

    [[nodiscard]] TracedWrite made(const TraceLimits& limits) const {
        TracedWrite write;
        write.order = entry_.order;
        write.number = entry_.number;
        write.thread = launch_.coordinate(entry_.block, entry_.thread);
        write.location = launch_.place(entry_.site);
        write.address = entry_.address;
        write.bytes = entry_.bytes;
        write.value = first_bytes(entry_.value, entry_.bytes);
        write.access_address = entry_.access_address;
        write.access_bytes = entry_.access_bytes;
        write.atomic = (entry_.kind & traced_atomic) != 0;
        if ((entry_.kind & traced_result) != 0)
            write.result = first_bytes(entry_.result, entry_.access_bytes);
        write.reads = reads(limits, write.location);
        return write;
    }

  private:
    /// Those that say most about the write: sources of its value, then of addresses, then what is on its
    /// line; later ones before earlier ones.
    [[nodiscard]] std::vector<TracedRead> reads(const TraceLimits& limits, const CallChain& here) const {
        struct Candidate {
            std::uint32_t age;  ///< 0: the latest read
            TracedRead read;
        };
        std::vector<Candidate> candidates;
        std::map<std::uint32_t, bool> met;  ///< loads of which there is a later read
        for (std::uint32_t age = 0; age < std::min(entry_.reads, most_traced_reads); ++age) {
            const std::uint32_t number = entry_.reads - 1 - age;
            const ReadEntry& read = entry_.ring[number % most_traced_reads];
            const ReadRole role = role_of(read, std::exchange(met[load_of(read)], true));
            // Counted modulo 2^32.
            const bool is_fresh = age < entry_.reads - entry_.mark;
            if (!is_fresh && role == ReadRole::other) continue;
            if (auto reported = made(read, role, here)) candidates.push_back({age, std::move(*reported)});
        }
        std::ranges::stable_sort(candidates, {}, [](const Candidate& each) {
            return std::pair(each.read.role, !each.read.same_line);
        });
        if (candidates.size() > limits.reads) candidates.resize(limits.reads);
        std::ranges::sort(candidates, {}, &Candidate::age);
        std::vector<TracedRead> reads;
        for (Candidate& each : candidates) reads.push_back(std::move(each.read));
        return reads;
    }

    /// @param is_repeated whether the same load has been executed again since
    [[nodiscard]] ReadRole role_of(const ReadEntry& read, bool is_repeated) const {
        const auto source = sources_.find(load_of(read));
        if (source == sources_.end() || (is_repeated && (source->second & source_repeats) == 0))
            return ReadRole::other;
        return (source->second & source_address) != 0 ? ReadRole::address : ReadRole::value;
    }

    /// nullopt for the thread's own memory, which was reached through a pointer.
    [[nodiscard]] std::optional<TracedRead> made(const ReadEntry& entry, ReadRole role,
                                                 const CallChain& here) const {
        auto object = launch_.object(entry.address, entry_.shared_low);
        if (!object) return std::nullopt;
        TracedRead read;
        read.address = object->space == "shared" ? entry.address - entry_.shared_low : entry.address;
        read.bytes = entry.what >> read_bytes_shift & most_read_bytes;
        read.value = first_bytes(entry.value, read.bytes);
        read.atomic = (entry.what >> read_atomic_shift & 1) != 0;
        read.role = role;
        read.location = launch_.place(static_cast<std::uint32_t>(entry.what & read_site_mask));
        read.same_line = on_same_line(read.location, here);
        read.object = std::move(*object);
        return read;
    }

    const WriteEntry& entry_;
    const execution::ObserverFindings& launch_;
    std::map<std::uint32_t, std::uint32_t> sources_;  ///< with their bits, by number
};

}  // namespace

std::string_view name_of(ReadRole role) {
    switch (role) {
        case ReadRole::value:
            return "value";
        case ReadRole::address:
            return "address";
        case ReadRole::other:
            break;
    }
    return "other";
}

ElementTrace::ElementTrace(std::span<const AddressRange> elements, const TraceLimits& limits)
    : limits_(limits), state_(std::make_unique<TraceState>()) {
    if (elements.empty() || elements.size() > most_traced_elements)
        throw std::invalid_argument("between 1 and " + std::to_string(most_traced_elements) +
                                    " elements can be traced in a launch, not " +
                                    std::to_string(elements.size()));
    if (limits.writes < 2) throw std::invalid_argument("at least 2 writes are kept of each element");
    if (elements.size() * limits.writes > most_kept_writes)
        throw std::invalid_argument("at most " + std::to_string(most_kept_writes) +
                                    " writes can be kept of all elements together");
    std::uint64_t lowest = ~std::uint64_t{0}, end = 0;
    for (const AddressRange& each : elements) {
        if (each.bytes == 0 || each.base + each.bytes < each.base || each.base < most_tested_bytes)
            throw std::invalid_argument("an element to be traced has no bytes or no valid address");
        state_->elements.push_back({each.base, each.bytes, elements_.size()});
        elements_.push_back({each});
        state_->longest = std::max(state_->longest, each.bytes);
        lowest = std::min(lowest, each.base);
        end = std::max(end, each.base + each.bytes);
    }
    std::ranges::sort(state_->elements, {}, &TraceState::Element::address);
    state_->kept = limits.writes;
    state_->writes = std::make_unique_for_overwrite<WriteEntry[]>(elements.size() * limits.writes);
    state_->low = lowest - (most_tested_bytes - 1);
    state_->span = end - state_->low;
    while ((state_->span - 1) >> state_->shift >= trace_buckets) ++state_->shift;
    for (const AddressRange& each : elements) {
        const std::uint64_t first = each.base - (most_tested_bytes - 1) - state_->low;
        const std::uint64_t last = each.base + each.bytes - 1 - state_->low;
        for (std::uint64_t i = first >> state_->shift; i <= last >> state_->shift; ++i)
            state_->buckets[i] = 1;
    }
}

ElementTrace::~ElementTrace() = default;

void ElementTrace::block_begins(execution::ObservedBlock& block) {
    auto& blocks = state_->blocks;
    auto found = std::ranges::find_if(
        blocks, [&](const auto& each) { return !each->is_used && each->threads >= block.threads; });
    if (found == blocks.end()) {
        auto made = std::make_unique<TraceState::Block>();
        made->threads = block.threads;
        made->counts = std::make_unique_for_overwrite<std::uint32_t[]>(block.threads);
        made->marks = std::make_unique_for_overwrite<std::uint32_t[]>(block.threads);
        made->rings =
            std::make_unique_for_overwrite<ReadEntry[]>(std::size_t{block.threads} * most_traced_reads);
        made->window = {.low = state_->low,
                        .span = state_->span,
                        .shift = state_->shift,
                        .buckets = state_->buckets.data(),
                        .counts = made->counts.get(),
                        .rings = made->rings.get(),
                        .state = state_.get(),
                        .marks = made->marks.get()};
        blocks.push_back(std::move(made));
        found = blocks.end() - 1;
    }
    TraceState::Block& state = **found;
    state.is_used = true;
    state.window.block = block.block;
    state.window.shared_low = reinterpret_cast<std::uint64_t>(block.shared.data());
    std::fill_n(state.counts.get(), block.threads, 0);
    std::fill_n(state.marks.get(), block.threads, 0);
    block.check_states[jit::race_state] = &state.window;
}

void ElementTrace::block_ends(const execution::ObservedBlock& block, execution::BlockEnd) {
    const void* window = block.check_states[jit::race_state];
    for (const auto& each : state_->blocks)
        if (&each->window == window) each->is_used = false;
}

void ElementTrace::adds_findings(execution::ObserverFindings& findings) {
    for (std::size_t i = 0; i < state_->elements.size(); ++i) {
        const TraceState::Element& traced = state_->elements[i];
        TracedElement& element = elements_[traced.index];
        element.total_writes = traced.writes;
        element.writes.clear();
        for (std::uint64_t number = 0; number < traced.writes; ++number) {
            // Of those in between the places belong to later ones.
            if (number == state_->kept / 2 && traced.writes > state_->kept)
                number = traced.writes - (state_->kept - state_->kept / 2);
            element.writes.push_back(
                ReportedWrite(state_->writes[state_->slot(i, number)], findings).made(limits_));
        }
    }
}

}  // namespace cudasim::checks
