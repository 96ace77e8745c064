// See watches.h.
#include "simulator/execution/watches.h"

#include <algorithm>
#include <cstring>

#include "simulator/execution/launch.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

using jit::CapturedVariable;
using jit::FrameRecord;

namespace {

/// The part of an access that lies in the range; of several pieces the hull. False: none does.
bool overlap(const WatchedRange& range, std::uint64_t address, std::uint64_t bytes, std::uint64_t& low,
             std::uint64_t& high) {
    const std::uint64_t end = range.address + range.extent(), last = address + bytes;
    if (address >= end || last <= range.address) return false;
    low = std::max(address, range.address);
    high = std::min(last, end);
    if (range.count == 1) return true;
    const auto in_piece = [&](std::uint64_t place) {
        return (place - range.address) % range.stride < range.bytes;
    };
    if (!in_piece(low)) low += range.stride - (low - range.address) % range.stride;
    return low < high;
}

const std::byte* at(std::uint64_t address) {
    return reinterpret_cast<const std::byte*>(address);
}

}  // namespace

Watches::Watches(const Launch& launch) : launch_(launch) {
    hits_.reserve(most_hits);
    last_.reserve(most_hits);
}

// Memory ---------------------------------------------------------------------------------------------------

Watches::Region Watches::region_of(const MemoryWatch& watch, const WatchedRange& range,
                                   std::uint64_t base) const {
    Region region;
    region.id = watch.id;
    region.kinds = watch.kinds;
    region.range = range;
    region.range.address += base;
    // Also where only reads stop: an atomic operation has read what was there before.
    region.known.assign(at(region.range.address), at(region.range.address) + range.extent());
    region.before = region.known;
    return region;
}

bool Watches::may_be_watched(const MemoryWatch& watch) {
    std::uint64_t bytes = 0;
    for (const WatchedRange& range : watch.ranges) {
        if (range.count == 0 || range.bytes == 0 || range.extent() > most_bytes) return false;
        bytes += range.extent();
    }
    return bytes != 0 && bytes <= most_bytes;
}

bool Watches::add(const MemoryWatch& watch) {
    if (!may_be_watched(watch)) return false;
    if (watch.space == WatchedSpace::global) {
        for (const WatchedRange& range : watch.ranges) global_.push_back(region_of(watch, range, 0));
    } else if (watch.space == WatchedSpace::shared) {
        shared_.push_back(watch);
    }
    for (auto& [context, block] : blocks_) {
        if (watch.space == WatchedSpace::shared && (!watch.block || *watch.block == block.index))
            for (const WatchedRange& range : watch.ranges)
                block.regions.push_back(
                    region_of(watch, range, reinterpret_cast<std::uint64_t>(context->shared_base)));
        publish(*context, block);
    }
    return true;
}

void Watches::remove(std::uint64_t id) {
    const auto is_it = [&](const auto& each) { return each.id == id; };
    std::erase_if(global_, is_it);
    std::erase_if(shared_, is_it);
    for (auto& [context, block] : blocks_) std::erase_if(block.regions, is_it);
    for (Framed& framed : framed_) {
        if (framed.id != id || framed.frame.stop == nullptr || framed.frame.is_told) continue;
        const bool is_last = std::ranges::none_of(framed_, [&](const Framed& other) {
            return &other != &framed && other.frame.thread == framed.frame.thread;
        });
        if (is_last) framed.frame.stop->steps &= ~jit::step_watches;
    }
    std::erase_if(framed_, is_it);
    for (auto& [context, block] : blocks_) publish(*context, block);
}

void Watches::go_back() {
    blocks_.clear();
    hits_.clear();
    last_.clear();
    std::erase_if(framed_, [](const Framed& framed) { return framed.frame.is_told; });
    for (Framed& framed : framed_) {
        framed.frame.record = nullptr;
        framed.frame.block = nullptr;
        framed.frame.stop = nullptr;
        framed.frame.left = false;
    }
    for (Region& each : global_)
        if (!each.known.empty()) std::memcpy(each.known.data(), at(each.range.address), each.range.extent());
}

void Watches::block_begins(jit::BlockContext& context, std::uint64_t index) {
    Block& block = blocks_[&context];
    block.index = index;
    for (Framed& framed : framed_)
        if (framed.frame.block == &context) framed.frame.is_told = true;  // of the block before
    block.regions.clear();
    for (const MemoryWatch& watch : shared_)
        if (!watch.block || *watch.block == index)
            for (const WatchedRange& range : watch.ranges)
                block.regions.push_back(
                    region_of(watch, range, reinterpret_cast<std::uint64_t>(context.shared_base)));
    publish(context, block);
}

/// Local arrays that are watched in the block, with their frames.
template <typename Call>
void Watches::for_regions_of_frames(std::uint64_t block, Call&& call) noexcept {
    for (Framed& framed : framed_) {
        const Frame& frame = framed.frame;
        if (frame.record == nullptr || frame.left || frame.is_told || frame.thread.block != block) continue;
        for (std::size_t i = 0; i < framed.regions.size(); ++i)
            call(framed, framed.regions[i], static_cast<std::uint32_t>(i));
    }
}

/// Tells the block's code which accesses are worth a closer look.
void Watches::publish(jit::BlockContext& context, const Block& block) noexcept {
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    const auto include = [&](const Region& region) {
        low = std::min(low, region.range.address);
        high = std::max(high, region.range.address + region.range.extent());
    };
    std::ranges::for_each(global_, include);
    std::ranges::for_each(block.regions, include);
    for_regions_of_frames(block.index,
                          [&](const Framed&, const Region& region, std::uint32_t) { include(region); });
    context.watch_low = low < high ? low - jit::watch_margin : 0;
    context.watch_bytes = low < high ? high - low + jit::watch_margin : 0;
}

bool Watches::touched(const jit::BlockContext& context, std::uint32_t thread, std::uint64_t address,
                      std::uint64_t bytes, std::uint32_t flags, std::uint32_t site) noexcept {
    const auto found = blocks_.find(const_cast<jit::BlockContext*>(&context));
    if (found == blocks_.end() || bytes == 0) return false;
    Block& block = found->second;
    const bool is_write = (flags & jit::access_write) != 0;
    const bool is_read = !is_write || (flags & jit::access_atomic) != 0;
    WatchHit access;
    access.thread = {block.index, thread};
    access.site = site;
    access.address = address;
    access.bytes = bytes;
    const std::size_t before = hits_.size();
    for (std::size_t i = 0; i < global_.size(); ++i)
        look(global_[i], static_cast<std::uint32_t>(i), access, is_write, is_read);
    for (std::size_t i = 0; i < block.regions.size(); ++i)
        look(block.regions[i], static_cast<std::uint32_t>(global_.size() + i), access, is_write, is_read);
    for_regions_of_frames(block.index, [&](const Framed& framed, Region& region, std::uint32_t number) {
        if (framed.frame.thread.thread != thread) return;
        access.moved = framed.regions_moved;
        look(region, number, access, is_write, is_read);
    });
    if (hits_.size() == before) return false;
    is_in_statement(context.thread_stops[thread]);
    return true;
}

void Watches::look(Region& region, std::uint32_t number, const WatchHit& access, bool is_write,
                   bool is_read) noexcept {
    std::uint64_t low = 0, high = 0;
    if (!overlap(region.range, access.address, access.bytes, low, high)) return;
    WatchHit hit = access;
    hit.id = region.id;
    hit.kind = is_write ? WatchHit::Kind::write : WatchHit::Kind::read;
    hit.region = number;
    hit.address = low;
    hit.bytes = high - low;
    if (is_write && !region.known.empty()) {
        std::byte* known = region.known.data() + (low - region.range.address);
        if (std::memcmp(known, at(low), high - low) != 0) {
            std::memcpy(region.before.data() + (low - region.range.address), known, high - low);
            std::memcpy(known, at(low), high - low);
            const std::byte* old = region.before.data() + (low - region.range.address);
            std::uint64_t first = high - low, last = 0;
            for (std::uint64_t i = 0; i < high - low; ++i) {
                std::uint64_t piece_low = 0, piece_high = 0;
                if (old[i] == known[i] || !overlap(region.range, low + i, 1, piece_low, piece_high) ||
                    piece_low != low + i)
                    continue;
                first = std::min(first, i);
                last = i;
            }
            hit.changed = first <= last;
            if (hit.changed) {
                hit.address = low + first;
                hit.bytes = last - first + 1;
            }
        }
    }
    const bool stops = ((region.kinds & watch_reads) != 0 && is_read) ||
                       ((region.kinds & watch_writes) != 0 && is_write) ||
                       ((region.kinds & watch_changes) != 0 && hit.changed);
    if (stops) note(hit);
}

const Watches::Region* Watches::region(const WatchHit& hit) const {
    const auto framed = std::ranges::find(framed_, hit.id, &Framed::id);
    if (framed != framed_.end())
        return hit.region < framed->regions.size() ? &framed->regions[hit.region] : nullptr;
    if (hit.region < global_.size()) return global_[hit.region].id == hit.id ? &global_[hit.region] : nullptr;
    const auto block = std::ranges::find_if(
        blocks_, [&](const auto& each) { return each.second.index == hit.thread.block; });
    const std::size_t number = hit.region - global_.size();
    if (block == blocks_.end() || number >= block->second.regions.size()) return nullptr;
    const Region& own = block->second.regions[number];
    return own.id == hit.id ? &own : nullptr;
}

void Watches::before(const WatchHit& hit, std::uint64_t address, std::span<std::byte> target) const {
    const Region* where = region(hit);
    if (where == nullptr || !hit.changed) return;
    const std::uint64_t low = std::max(address, hit.address);
    const std::uint64_t high = std::min(address + target.size(), hit.address + hit.bytes);
    if (low < high)
        std::memcpy(target.data() + (low - address), where->before.data() + (low - where->range.address),
                    high - low);
}

void Watches::refresh(std::uint64_t address, std::uint64_t bytes) {
    const auto look_again = [&](std::vector<Region>& regions) {
        for (Region& each : regions) {
            const std::uint64_t low = std::max(address, each.range.address);
            const std::uint64_t high = std::min(address + bytes, each.range.address + each.range.extent());
            if (low < high && !each.known.empty())
                std::memcpy(each.known.data() + (low - each.range.address), at(low), high - low);
        }
    };
    look_again(global_);
    for (auto& [context, block] : blocks_) look_again(block.regions);
    for (Framed& each : framed_) {
        // Without a frame, or where its record may be somebody else's.
        if (each.frame.record == nullptr || each.frame.left || each.frame.is_told) continue;
        look_again(each.regions);
        for (const Slot& slot : each.slots) {
            const std::uint64_t begin = reinterpret_cast<std::uint64_t>(each.frame.record) + slot.place;
            const std::uint64_t low = std::max(address, begin);
            const std::uint64_t high = std::min(address + bytes, begin + slot.bytes);
            if (low < high) std::memcpy(each.known.data() + slot.known + (low - begin), at(low), high - low);
        }
    }
}

// Frames ---------------------------------------------------------------------------------------------------

void Watches::is_in_statement(jit::ThreadStop& thread) const noexcept {
    thread.site = site_in(thread);
}

/// Where the thread is.
std::uint32_t Watches::site_in(const jit::ThreadStop& thread) const {
    const std::vector<jit::StopPlace>& places = launch_.kernel->stops.places;
    const FrameRecord* record = thread.innermost;
    return record != nullptr && record->place < places.size() ? places[record->place].site : thread.site;
}

std::optional<Watches::Frame> Watches::frame_of(const FrameRef& wanted, jit::ThreadStop& thread,
                                                const jit::BlockContext& block) const {
    if (!launch_.kernel) return std::nullopt;
    const jit::Stops& stops = launch_.kernel->stops;
    std::optional<Frame> found;
    std::size_t inner = 0;  // functions, from the innermost on
    for (FrameRecord* record = thread.innermost; record != nullptr; record = record->caller) {
        if (record->place >= stops.places.size()) continue;
        const std::vector<std::uint32_t>& frames = stops.places[record->place].frames;
        if (!found && wanted.frame < inner + frames.size())
            found = Frame{wanted.thread, &block, &thread, record, frames[wanted.frame - inner]};
        inner += frames.size();
    }
    if (found) found->level = inner - 1 - wanted.frame;
    return found;
}

/// Null: the thread has no such frame there.
const FrameRecord* Watches::record_of(const Frame& frame, const jit::ThreadStop& here) const noexcept {
    const jit::Stops& stops = launch_.kernel->stops;
    const auto frames_in = [&](const FrameRecord& record) {
        return record.place < stops.places.size() ? std::span(stops.places[record.place].frames)
                                                  : std::span<const std::uint32_t>();
    };
    std::size_t outer = 0;  // functions, from the record's innermost outwards
    for (const FrameRecord* record = here.innermost; record != nullptr; record = record->caller)
        outer += frames_in(*record).size();
    for (const FrameRecord* record = here.innermost; record != nullptr; record = record->caller) {
        const auto frames = frames_in(*record);
        const std::size_t own = outer - 1 - frame.level;  // index in the record, if it is there
        if (outer > frame.level && own < frames.size())
            return frames[own] == frame.variables ? record : nullptr;
        outer -= frames.size();
    }
    return nullptr;
}

/// What is known of it is what is there now.
void Watches::read(Framed& framed) noexcept {
    const auto* record = reinterpret_cast<const std::byte*>(framed.frame.record);
    for (const Slot& slot : framed.slots) {
        std::memcpy(framed.known.data() + slot.known, record + slot.place, slot.bytes);
        framed.known[slot.known + slot.bytes] = record[slot.flag];
    }
}

/// Whether the thread has the frame now. It had not, where it was looked for last.
bool Watches::find_frame(Framed& framed, jit::ThreadStop& here, const jit::BlockContext& block) noexcept {
    Frame& frame = framed.frame;
    frame.record = record_of(frame, here);
    if (frame.record == nullptr) return false;
    frame.block = &block;
    frame.stop = &here;
    framed.last_site = site_in(here);
    read(framed);
    if (framed.regions.empty()) return true;
    const std::uint64_t record = reinterpret_cast<std::uint64_t>(frame.record);
    const std::uint64_t moved = record - framed.regions_for;
    framed.regions_for = record;
    framed.regions_moved += moved;
    for (Region& region : framed.regions) {
        region.range.address += moved;
        if (memory::Shadow::instance().allows(region.range.address, region.range.extent(), false))
            std::memcpy(region.known.data(), at(region.range.address), region.range.extent());
    }
    const auto known = blocks_.find(const_cast<jit::BlockContext*>(&block));
    if (known != blocks_.end()) publish(*known->first, known->second);
    return true;
}

std::vector<std::uint32_t> Watches::threads_with_frames(std::uint64_t block) const {
    std::vector<std::uint32_t> threads;
    for (const Framed& framed : framed_)
        if (framed.frame.thread.block == block && !framed.frame.is_told)
            threads.push_back(framed.frame.thread.thread);
    return threads;
}

void Watches::find_frames(jit::ThreadStop& thread, const jit::BlockContext& block, std::uint32_t number) {
    for (Framed& framed : framed_)
        if (framed.frame.record == nullptr &&
            framed.frame.thread == ThreadRef{jit::linear_index(block), number})
            (void)find_frame(framed, thread, block);
}

bool Watches::add(const VariableWatch& watch, jit::ThreadStop& thread, const jit::BlockContext& block) {
    const auto frame = frame_of(watch.frame, thread, block);
    if (!frame) return false;
    Framed variable;
    variable.id = watch.id;
    variable.frame = *frame;
    variable.last_site = site_in(thread);
    std::uint64_t known = 0;
    for (const CapturedVariable& each : launch_.kernel->stops.frames[frame->variables]) {
        if (each.name != watch.name || each.parts.size() < 2) continue;
        const std::uint64_t bytes = watch.bytes == 0 ? each.bytes : watch.bytes;
        if (watch.offset + bytes > each.bytes) continue;
        variable.slots.push_back(
            {&each, each.parts.front().value + watch.offset, each.parts.back().value, bytes, known});
        known += bytes + 1;
    }
    if (variable.slots.empty()) return false;
    variable.known.resize(known);
    read(variable);
    variable.before = variable.known;
    framed_.push_back(std::move(variable));
    return true;
}

bool Watches::add_local(const MemoryWatch& watch, jit::ThreadStop& thread, const jit::BlockContext& block) {
    const auto frame = watch.frame ? frame_of(*watch.frame, thread, block) : std::nullopt;
    if (!frame || !may_be_watched(watch)) return false;
    Framed memory;
    memory.id = watch.id;
    memory.frame = *frame;
    memory.last_site = site_in(thread);
    memory.regions_for = reinterpret_cast<std::uint64_t>(frame->record);
    for (const WatchedRange& range : watch.ranges) memory.regions.push_back(region_of(watch, range, 0));
    framed_.push_back(std::move(memory));
    const auto known = blocks_.find(const_cast<jit::BlockContext*>(&block));
    if (known != blocks_.end()) publish(*known->first, known->second);
    return true;
}

bool Watches::is_there(const Frame& frame, const jit::ThreadStop& here) const noexcept {
    if (frame.left) return false;
    const jit::Stops& stops = launch_.kernel->stops;
    for (const FrameRecord* record = here.innermost; record != nullptr; record = record->caller)
        if (record == frame.record)
            return record->place < stops.places.size() &&
                   std::ranges::find(stops.places[record->place].frames, frame.variables) !=
                       stops.places[record->place].frames.end();
    return false;
}

/// The thread has left the frame. Where the launch runs again, it has left one that fitted, and comes to
/// another, which is the right one.
void Watches::leave(Framed& framed, bool repeats) noexcept {
    framed.frame.is_told = !repeats;
    if (repeats) {
        framed.frame.record = nullptr;
        framed.frame.left = false;
        framed.frame.first = 0;
    }
    WatchHit hit;
    hit.id = framed.id;
    hit.kind = WatchHit::Kind::frame_left;
    hit.thread = framed.frame.thread;
    hit.site = framed.last_site;
    note(hit);
}

bool Watches::variables_changed(jit::ThreadStop& here, const jit::BlockContext& block, std::uint32_t thread,
                                std::uint64_t count, bool repeats) noexcept {
    const std::size_t hits = hits_.size();
    const std::uint64_t index = jit::linear_index(block);
    for (Framed& framed : framed_) {
        Frame& frame = framed.frame;
        if (frame.is_told || frame.thread != ThreadRef{index, thread}) continue;
        if (frame.record != nullptr && !is_there(frame, here)) leave(framed, repeats);
        if (frame.is_told) continue;
        if (frame.record == nullptr) {
            if (count >= frame.first && find_frame(framed, here, block)) frame.first = count;
            continue;
        }
        WatchHit hit;
        hit.id = framed.id;
        hit.thread = frame.thread;
        hit.site = framed.last_site;
        hit.kind = WatchHit::Kind::assigned;
        framed.last_site = here.site;
        const auto* record = reinterpret_cast<const std::byte*>(frame.record);
        const auto differs = [&](const Slot& slot) {
            const std::byte* known = framed.known.data() + slot.known;
            if (known[slot.bytes] != record[slot.flag]) return true;
            return record[slot.flag] != std::byte{0} &&
                   std::memcmp(known, record + slot.place, slot.bytes) != 0;
        };
        if (std::ranges::none_of(framed.slots, differs)) continue;
        hit.changed = true;
        std::ranges::copy(framed.known, framed.before.begin());
        read(framed);
        note(hit);
    }
    return hits_.size() != hits;
}

void Watches::frame_left(const FrameRecord* record) noexcept {
    for (Framed& framed : framed_)
        if (framed.frame.record == record) framed.frame.left = true;
}

bool Watches::thread_ended(ThreadRef thread, bool repeats) {
    const std::size_t hits = hits_.size();
    for (Framed& framed : framed_)
        if (!framed.frame.is_told && framed.frame.record != nullptr && framed.frame.thread == thread)
            leave(framed, repeats);
    return hits_.size() != hits;
}

bool Watches::declares(const FrameRef& frame, std::string_view name, jit::ThreadStop& thread,
                       const jit::BlockContext& block) const {
    const auto found = frame_of(frame, thread, block);
    return found &&
           std::ranges::find(launch_.kernel->stops.frames[found->variables], name, &CapturedVariable::name) !=
               launch_.kernel->stops.frames[found->variables].end();
}

findings::VariableValue Watches::variable(const WatchHit& hit, bool before) const {
    findings::VariableValue value;
    const auto found = std::ranges::find(framed_, hit.id, &Framed::id);
    if (found == framed_.end() || !hit.changed) return value;
    for (const Slot& slot : found->slots) {
        const std::byte* bytes = (before ? found->before : found->known).data() + slot.known;
        value.name = slot.variable->name;
        if (bytes[slot.bytes] == std::byte{0}) continue;
        value.type = launch_.kernel->stops.types[slot.variable->type];
        value.bytes.assign(bytes, bytes + slot.bytes);
        value.known = true;
    }
    return value;
}

}  // namespace cudasim::execution
