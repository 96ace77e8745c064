// Comparing an access with those before it, and remembering it: cells and crowded words (race_shadow.h).
//
// What must hold of a cell, so that nothing is missed: an access may be forgotten when another one stands
// for it, that is when every later access that nothing orders behind the forgotten one is not ordered behind
// the other one either, and that touches the same bytes.
//   - A later access of the same class stands for an earlier one that is ordered before it.
//   - Where barriers alone order threads, two readers of different blocks stand for all readers, and two of
//     one block for all of its phase: whoever writes later is another thread than one of the two.
#include "simulator/checks/race_detector.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "simulator/checks/race_state.h"

namespace cudasim::checks {

namespace {

constexpr std::size_t most_waiting = 2048;

/// Up to 8 bytes as the memory has them now.
std::uint64_t content(std::uint64_t address, std::uint64_t bytes) {
    const void* const memory = reinterpret_cast<const void*>(address);
    if (bytes == sizeof(std::uint32_t)) {  // most are, and a copy of any length takes longer than the rest
        std::uint32_t value = 0;
        std::memcpy(&value, memory, sizeof value);
        return value;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, memory, std::min<std::uint64_t>(bytes, sizeof value));
    return value;
}

/// The bits of a byte that its bit in the mask stands for.
constexpr std::uint64_t expanded(unsigned mask) {
    std::uint64_t bits = 0;
    for (unsigned byte = 0; byte < word_bytes; ++byte)
        if ((mask >> byte & 1U) != 0) bits |= std::uint64_t{0xFF} << (8 * byte);
    return bits;
}

/// How many bytes a mask of four has.
constexpr unsigned count_of(unsigned mask) {
    return (mask & 1U) + (mask >> 1 & 1U) + (mask >> 2 & 1U) + (mask >> 3 & 1U);
}

RaceSide side_of(Record record, AccessClass kind, std::uint64_t block) {
    RaceSide side;
    side.block = block;
    side.thread = thread_of(record);
    side.site = site_of(record);
    side.kind = kind;
    side.is_volatile = kind != AccessClass::atomic && (record & is_volatile) != 0;
    if (kind == AccessClass::atomic) side.scope = plain_scope(record);
    return side;
}

}  // namespace

/// Compiled code takes it for known that a thread reads the word when it has been read twice in the thread's
/// epoch, or by two blocks, and looks at the second reader only. That is right as long as two readers of the
/// whole word are there, and nobody has changed it but before the last barrier.
void RaceDetector::mark_readers(const Looked& now, const Word& word) {
    Cell& cell = word.cell;
    if (epoch_of(cell.read[1]) < now.floor) return;
    const auto changed = [&](Record record) {
        const std::uint32_t epoch = epoch_of(record);
        return epoch >= now.floor && (epoch >= now.block.phase() || !now.block.owns(epoch));
    };
    if (bytes_of(cell.read[0]) != all_bytes || bytes_of(cell.read[1]) != all_bytes ||
        now.kind != AccessClass::read || changed(cell.written) || changed(cell.atomic))
        cell.read[1] |= has_more;
}

void RaceDetector::access(Block& block, std::uint32_t thread, const PlainAccess& access) {
    Looked now{block, thread};
    now.floor = floor_of(block, access.address);
    now.kind = access.writes ? AccessClass::write : AccessClass::read;
    now.record = present(block, thread) | (Record{std::min(access.site, unknown_site)} << site_shift);
    if (access.is_volatile) now.record |= is_volatile;
    if (access.is_message) now.record |= is_message;
    now.barriers_only = access.barriers_only;
    now.is_decided = access.is_decided;
    now.address = access.address;
    now.bytes = access.bytes;
    now.written = access.written;
    now.value = access.value;
    const bool is_word = now.bytes == word_bytes && now.address % word_bytes == 0;
    if (is_word && !now.is_decided && now.repeats_races(*this)) return;
    look_at(now, access.address, access.bytes);
}

/// What look_at() does with an access to one word, in the case that is usual where a launch races very often:
/// whole words, and pairs of lines that are known to race, with an example that this one does not better.
/// @return whether that is so; else nothing was done
bool RaceDetector::Looked::repeats_races(RaceDetector& detector) const {
    Cell& cell = detector.shadow_.cell(address);
    const bool is_write = kind == AccessClass::write;
    const auto is_live = [&](Record known) {
        return epoch_of(known) >= floor && !detector.is_ordered(known, block, thread);
    };
    struct Pair {
        Race* race = nullptr;
        bool equal = false;
    };
    std::array<Pair, 4> pairs;
    std::size_t count = 0;
    const auto is_usual = [&](Record before, AccessClass other) {
        if (epoch_of(before) < floor) return true;
        if (bytes_of(before) != all_bytes || epoch_of(before) == pending_epoch) return false;
        if ((before & has_more) != 0 && detector.shadow_.find_crowd(address) != nullptr) return false;
        if (!is_live(before)) return true;
        const bool harmless = !is_write || (record & is_message) != 0;
        const Word word{address, all_bytes, cell};
        if (other == AccessClass::atomic) {
            if ((before & only_reads) != 0 && harmless) return true;
            if ((before & only_reads) == 0 && detector.is_behind_writes(*this, word)) return true;
        }
        if (other == AccessClass::read && detector.is_behind_reader(before, *this)) return true;
        const Recent& recent = detector.recent_of(key_of(before, other, record, kind));
        if (recent.race == nullptr || recent.key != key_of(before, other, record, kind)) return false;
        const Race& known = *recent.race;
        const bool equal = is_write && other == AccessClass::write && writes_the_same(*this, word, all_bytes);
        if (known.cause == RaceCause::no_warp_barrier || (!equal && known.equal_writes == known.pairs))
            return false;
        pairs[count++] = {recent.race, equal};
        return true;
    };
    if (!is_usual(cell.written, AccessClass::write) || !is_usual(cell.atomic, AccessClass::atomic))
        return false;
    auto& readers = cell.read;
    if (is_write) {
        if (!is_usual(readers[0], AccessClass::read) || !is_usual(readers[1], AccessClass::read))
            return false;
    } else if (count == 0 || !barriers_only || bytes_of(readers[0]) != all_bytes ||
               bytes_of(readers[1]) != all_bytes || !is_live(readers[0]) || !is_live(readers[1]) ||
               (!block.owns(epoch_of(readers[0])) &&
                detector.block_of(epoch_of(readers[0])) == detector.block_of(epoch_of(readers[1])))) {
        return false;  // the readers change
    }
    if (is_write) cell.written = record | all_bytes;
    if (epoch_of(readers[1]) >= floor) readers[1] |= has_more;
    for (std::size_t i = 0; i < count; ++i) {
        Race& race = *pairs[i].race;
        ++race.pairs;
        race.pair_bytes += word_bytes;
        race.equal_writes += pairs[i].equal ? 1 : 0;
    }
    detector.pairs_ += count;
    return true;
}

/// Whether a plain access is ordered behind the last atomic write of its word, and by that behind all of
/// them. Behind an update that nobody waited for only what the update has decided is: what merely follows may
/// come before the next thread's update as well.
bool RaceDetector::is_behind_writes(const Looked& now, const Word& word) const {
    if (now.kind == AccessClass::atomic) return false;
    const auto found = variables_.find(now.address);
    if (found == variables_.end()) return false;
    const SyncVariable& variable = found->second;
    if (!variable.is_chain || variable.last_write == 0 || variable.bytes != now.bytes) return false;
    if (word.address != now.address && variables_.contains(word.address)) return false;
    return ((now.is_decided || variable.is_known_chain) &&
            is_ordered(variable.last_write, now.block, now.thread)) ||
           has_waited(variable, now.block, now.thread);
}

/// Whether a write comes behind the last atomic write of its word, and the read was its thread's before one
/// of those, all of which have seen the ones before them: then the read cannot have seen this one.
bool RaceDetector::is_behind_reader(Record read, const Looked& now) const {
    const auto found = variables_.find(now.address);
    if (found == variables_.end()) return false;
    const SyncVariable& variable = found->second;
    if (!variable.is_chain || variable.bytes != now.bytes || epoch_of(read) == pending_epoch) return false;
    const auto stored = variable.stored.find({block_of(epoch_of(read)), thread_of(read)});
    if (stored == variable.stored.end() || stored->second < epoch_of(read)) return false;
    return (variable.is_known_chain && is_ordered(variable.last_write, now.block, now.thread)) ||
           has_waited(variable, now.block, now.thread);
}

/// Whether the thread comes behind a load that waited for the variable's last write.
bool RaceDetector::has_waited(const SyncVariable& variable, const Block& block, std::uint32_t thread) const {
    const auto& waited = variable.waited;
    if (waited.contains({block.index, thread})) return true;
    for (auto at = waited.lower_bound({block.index, 0}); at != waited.end() && at->first.first == block.index;
         ++at)
        if (is_ordered(at->second, block, thread)) return true;
    // Of other blocks, where very many threads wait, the first thread: mostly it waits for all of its block.
    const bool look_at_all = waited.size() < most_waiting;
    for (auto at = waited.begin(); at != waited.end();
         at = look_at_all ? std::next(at) : waited.lower_bound({at->first.first + 1, 0}))
        if (is_ordered(at->second, block, thread)) return true;
    return false;
}

void RaceDetector::compare_atomic(Block& block, std::uint32_t thread, const AtomicAccess& access) {
    Looked now{block, thread};
    now.floor = floor_of(block, access.address);
    now.kind = AccessClass::atomic;
    now.record = with_scope(
        present(block, thread) | (Record{std::min(access.site, unknown_site)} << site_shift), access.scope);
    if (access.kind == AtomicKind::load || !access.wrote) now.record |= only_reads;
    now.scope = access.scope;
    now.barriers_only = access.barriers_only;
    now.address = access.address;
    now.bytes = access.bytes;
    look_at(now, access.address, access.bytes);
}

/// In whose shared memory the address lies: in the block's, or in another's of its cluster. Null: in none.
const RaceDetector::Block* RaceDetector::owner_of(const Block& block, std::uint64_t address) const {
    const auto is_in = [&](const Block& of) { return address - of.shared_low < of.shared_bytes; };
    if (is_in(block)) return &block;
    if (address < first_shared_ || address >= end_of_shared_) return nullptr;
    const auto other = std::ranges::find_if(blocks_, [&](const auto& each) { return is_in(*each); });
    return other == blocks_.end() ? nullptr : other->get();
}

/// Whether one of the block's threads comes behind it.
bool RaceDetector::knows(const Block& block, Record before) const {
    const std::uint32_t different = block.sync.empty() ? 1 : block.threads;
    for (std::uint32_t thread = 0; thread < different; ++thread)
        if (is_ordered(before, block, thread)) return true;
    return false;
}

void RaceDetector::compare_end(Block& block) {
    if (!has_clusters_ || exhausted_ || block.shared_bytes == 0) return;
    const std::uint32_t floor = std::max(block.first_epoch, launch_epoch_);
    std::uint64_t word = block.shared_low;
    const auto look = [&](Record before, AccessClass kind) {
        const std::uint32_t epoch = epoch_of(before);
        if (epoch < floor || epoch == pending_epoch || block.owns(epoch) || knows(block, before)) return;
        report_end(block, before, kind, word);
    };
    for (; word < block.shared_low + block.shared_bytes; word += word_bytes) {
        const Cell& cell = shadow_.cell(word);
        look(cell.written, AccessClass::write);
        if (scope_of(cell.atomic) != AtomicScope::mixed) look(cell.atomic, AccessClass::atomic);
        for (const Record read : cell.read) look(read, AccessClass::read);
        if (((cell.written | cell.atomic | cell.read[1]) & has_more) == 0) continue;
        if (const CrowdedWord* crowd = shadow_.find_crowd(word))
            for (const CrowdedAccess& each : crowd->accesses) look(each.record, each.kind);
    }
}

void RaceDetector::report_end(const Block& block, Record before, AccessClass kind, std::uint64_t address) {
    constexpr std::uint32_t the_end = ~std::uint32_t{0};
    Race& race = races_[{site_of(before) | static_cast<std::uint32_t>(kind) << 16, the_end}];
    if (race.pairs == 0) {
        race.first = described(side_of(before, kind, block_of(epoch_of(before))));
        race.second.block = race.shared_block = block.index;
        race.cause = RaceCause::block_ends;
        race.address = address;
        race.bytes = word_bytes;
        race.shared_low = block.shared_low;
    }
    ++race.pairs;
    ++pairs_;
    race.pair_bytes += count_of(bytes_of(before));
}

std::uint32_t RaceDetector::floor_of(const Block& block, std::uint64_t address) const {
    const Block* owner = owner_of(block, address);
    return owner != nullptr ? std::max(owner->first_epoch, launch_epoch_) : launch_epoch_;
}

/// Whether the record is of an access that happened before this one, or stands for none.
bool RaceDetector::is_over(Record record, const Looked& now) const {
    return epoch_of(record) < now.floor || is_ordered(record, now.block, now.thread);
}

void RaceDetector::look_at(const Looked& now, std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t word = address & ~std::uint64_t{word_bytes - 1}; word < end; word += word_bytes) {
        const Word here{word, bytes_in_word(address, bytes, word), shadow_.cell(word)};
        compare(here.cell.written, AccessClass::write, now, here);
        compare(here.cell.atomic, AccessClass::atomic, now, here);
        if (!now.reads()) {
            compare(here.cell.read[0], AccessClass::read, now, here);
            compare(here.cell.read[1], AccessClass::read, now, here);
        }
        switch (now.kind) {
            case AccessClass::read:
                note_read(now, here);
                break;
            case AccessClass::write:
                note_write(now, here);
                break;
            case AccessClass::atomic:
                note_atomic(now, here);
                break;
        }
        mark_readers(now, here);
    }
}

void RaceDetector::compare(Record before, AccessClass kind, const Looked& now, const Word& word) {
    if (epoch_of(before) < now.floor) return;
    const bool both_atomic = kind == AccessClass::atomic && now.kind == AccessClass::atomic;
    // Those behind it have the scope that it has, unless that is mixed.
    const bool scopes_reach = both_atomic && now.scope != AtomicScope::block &&
                              scope_of(before) != AtomicScope::block &&
                              scope_of(before) != AtomicScope::mixed;
    if (scopes_reach) return;
    if ((before & has_more) != 0) compare_crowd(now, word, kind);
    const unsigned both = bytes_of(before) & word.bytes;
    if (both == 0 || is_ordered(before, now.block, now.thread)) return;
    if (both_atomic && now.block.owns(epoch_of(before))) return;
    if (kind == AccessClass::atomic) {
        const bool reads = (before & only_reads) != 0;
        const bool is_told = now.kind == AccessClass::write && (now.record & is_message) != 0;
        if (reads ? now.reads() || is_told : is_behind_writes(now, word)) return;
    } else if (kind == AccessClass::read) {
        if (is_behind_reader(before, now)) return;
    } else if (now.kind == AccessClass::atomic) {
        if (now.reads() && (before & is_message) != 0) return;
    }
    report(before, kind, now, word, both);
}

void RaceDetector::compare_crowd(const Looked& now, const Word& word, AccessClass kind) {
    CrowdedWord* crowd = shadow_.find_crowd(word.address);
    if (crowd == nullptr) return;
    for (const CrowdedAccess& each : crowd->accesses)
        if (each.kind == kind) compare(each.record & ~has_more, kind, now, word);
}

void RaceDetector::note_read(const Looked& now, const Word& word) {
    const Record me = now.record | word.bytes;
    auto& readers = word.cell.read;
    for (Record& known : readers) {
        if (!same_thread_and_epoch(known, me)) continue;
        const bool adds_bytes = (word.bytes & ~bytes_of(known)) != 0;
        if (adds_bytes && site_of(known) != site_of(me)) continue;
        known |= word.bytes;
        return;
    }
    const auto is_live = [&](Record record) { return !is_over(record, now); };
    const auto covers = [&](Record record) {
        return epoch_of(record) < now.floor || (bytes_of(record) & ~word.bytes) == 0;
    };
    if (!is_live(readers[0]) && covers(readers[0])) {
        readers[0] = me;
    } else if (!is_live(readers[1]) && covers(readers[1])) {
        readers[1] = me | (epoch_of(readers[1]) < now.floor ? 0 : readers[1] & has_more);
        if (is_live(readers[0]) && !now.block.owns(epoch_of(readers[0]))) readers[1] |= other_block;
    } else {
        const bool whole = bytes_of(readers[0]) == all_bytes && bytes_of(readers[1]) == all_bytes;
        if (!now.barriers_only || !whole || !is_live(readers[0]) || !is_live(readers[1])) {
            add_to_crowd(now, word, me, AccessClass::read);
        } else if (!now.block.owns(epoch_of(readers[0])) &&
                   block_of(epoch_of(readers[0])) == block_of(epoch_of(readers[1]))) {
            if (word.bytes == all_bytes)
                readers[1] = me | other_block | (readers[1] & has_more);
            else
                add_to_crowd(now, word, me, AccessClass::read);
        }
    }
}

void RaceDetector::note_write(const Looked& now, const Word& word) {
    Record me = now.record | word.bytes;
    Record& known = word.cell.written;
    if (epoch_of(known) == pending_epoch) return;  // the copy stays the last one until it is waited for
    if (same_thread_and_epoch(known, me) && site_of(known) == site_of(me)) {
        known |= word.bytes;
        return;
    }
    const bool stands = (bytes_of(known) & ~word.bytes) == 0 || epoch_of(known) < now.floor;
    if (stands) {
        known = me | (epoch_of(known) < now.floor ? 0 : known & has_more);
        return;
    }
    add_to_crowd(now, word, me, AccessClass::write);
}

void RaceDetector::note_atomic(const Looked& now, const Word& word) {
    Record me = now.record | word.bytes;
    Record& known = word.cell.atomic;
    if (epoch_of(known) < now.floor) {
        known = me;
        return;
    }
    const bool narrows = now.scope == AtomicScope::block;
    // What only reads does not stand for a change: it races with fewer.
    const bool is_less = now.reads() && (known & only_reads) == 0;
    // Nor do two of which one has the wider scope, and the other one changes the word, go into one record.
    const bool differs = now.reads() != ((known & only_reads) != 0) && now.scope != plain_scope(known);
    if (same_thread_and_epoch(known, me) && !differs && !(narrows && scope_of(known) == AtomicScope::mixed)) {
        const AtomicScope scope = narrows ? AtomicScope::block : scope_of(known);
        known = with_scope(is_less ? known : me, scope) | word.bytes | bytes_of(known) | (known & has_more);
        return;
    }
    const bool covered = (bytes_of(known) & ~word.bytes) == 0;
    // One of a wider scope does not stand for it: it races with fewer.
    if (covered && !is_less && (known & has_more) == 0 && now.scope <= scope_of(known) &&
        is_ordered(known, now.block, now.thread)) {
        known = me;
        return;
    }
    const bool changes = !now.reads() && (known & only_reads) == 0;
    if (now.barriers_only && changes && covered && plain_scope(known) == now.scope) {
        // One older access, besides the newest one, stands for all.
        if (CrowdedWord* crowd = shadow_.find_crowd(word.address); crowd != nullptr) {
            const auto older = std::ranges::find_if(crowd->accesses, [](const CrowdedAccess& each) {
                return each.kind == AccessClass::atomic && (each.record & only_reads) == 0;
            });
            if (older != crowd->accesses.end() && (known & has_more) != 0) {
                // Best is one of another block; else one that no barrier orders before this one.
                const auto is_other = [&](Record record) {
                    return epoch_of(record) >= now.floor && !now.block.owns(epoch_of(record));
                };
                const bool stays =
                    bytes_of(older->record) == word.bytes &&
                    (is_other(older->record) || (!is_other(known) && !is_over(older->record, now)));
                if (!stays) older->record = with_scope(known & ~has_more, now.scope);
                const bool two_blocks = now.scope == AtomicScope::device && word.bytes == all_bytes &&
                                        is_other(older->record) && bytes_of(older->record) == all_bytes;
                known = with_scope(me, two_blocks ? AtomicScope::two_blocks : now.scope) | has_more;
                return;
            }
        }
    }
    add_to_crowd(now, word, me, AccessClass::atomic);
}

/// `record` takes its place in the cell, as the newest of its kind, and what was there goes to the crowd.
void RaceDetector::add_to_crowd(const Looked& now, const Word& word, Record record, AccessClass kind) {
    CrowdedWord& crowd = shadow_.crowd(word.address);
    Record& slot = kind == AccessClass::read    ? word.cell.read[1]
                   : kind == AccessClass::write ? word.cell.written
                                                : word.cell.atomic;
    const std::uint32_t thread = now.thread, epoch = epoch_of(record);
    if (kind == AccessClass::read && bytes_of(record) == all_bytes) {
        std::uint64_t& bits = crowd.readers[thread / 64];
        if (crowd.readers_epoch != epoch) {
            crowd.readers.fill(0);
            crowd.readers_epoch = epoch;
        }
        if ((bits >> (thread % 64) & 1U) != 0) return;
        bits |= std::uint64_t{1} << (thread % 64);
    }
    if (crowd.accesses.size() >= crowd.clean_up_at) {
        std::erase_if(crowd.accesses, [&](const CrowdedAccess& each) {
            return epoch_of(each.record) < now.floor ||
                   (each.kind == kind && (bytes_of(each.record) & ~word.bytes) == 0 &&
                    (kind != AccessClass::atomic || (now.scope <= scope_of(each.record) &&
                                                     (!now.reads() || (each.record & only_reads) != 0))) &&
                    is_ordered(each.record, now.block, now.thread));
        });
        crowd.clean_up_at = std::max<std::size_t>(16, 2 * crowd.accesses.size());
    }
    Record older = slot & ~has_more;
    if (kind == AccessClass::atomic && scope_of(older) == AtomicScope::two_blocks)
        older = with_scope(older, AtomicScope::device);
    if (epoch_of(slot) >= now.floor) crowd.accesses.push_back({older, kind});
    if (kind == AccessClass::atomic && epoch_of(slot) >= now.floor && scope_of(older) != now.scope) {
        crowd.accesses.push_back({record, kind});
        record = with_scope(record, AtomicScope::mixed);
    }
    slot = record | has_more;
}

void RaceDetector::report(Record before, AccessClass kind, const Looked& now, const Word& word,
                          unsigned both) {
    if (exhausted_ || (kind == AccessClass::atomic && scope_of(before) == AtomicScope::mixed)) return;
    const RaceKey key = key_of(before, kind, now.record, now.kind);
    Recent& recent = recent_of(key);
    if (recent.race == nullptr || recent.key != key) recent = {key, &races_[key]};
    Race& merged = *recent.race;
    // The element that this access is to, or the word of one that is longer.
    const bool is_whole = now.bytes <= sizeof merged.old_value;
    const std::uint64_t address = is_whole ? now.address : word.address;
    const std::uint64_t element_bytes = is_whole ? now.bytes : word_bytes;
    const bool equal =
        kind == AccessClass::write && now.kind == AccessClass::write && writes_the_same(now, word, both);
    // An example whose writes differ says more than one whose writes are equal. So does one that a barrier of
    // the warp would not mend.
    const bool is_first = merged.pairs == 0;
    const bool may_be_better =
        merged.cause == RaceCause::no_warp_barrier || (!equal && merged.equal_writes == merged.pairs);
    if (is_first || may_be_better) {
        const RaceCause cause = cause_of(before, kind, now);
        if (is_first || cause != RaceCause::no_warp_barrier ||
            (!equal && merged.equal_writes == merged.pairs)) {
            const std::uint32_t epoch = epoch_of(before);
            const bool is_pending = epoch == pending_epoch;  // of the block's own thread
            merged.first = described(side_of(before, kind, is_pending ? now.block.index : block_of(epoch)));
            merged.second = side_of(now.record, now.kind, now.block.index);
            merged.second.thread = now.thread;
            merged.second = described(merged.second);
            merged.cause = cause;
            merged.address = address;
            merged.bytes = static_cast<std::uint32_t>(element_bytes);
            const Block* owner = owner_of(now.block, word.address);
            merged.shared_low = owner != nullptr ? owner->shared_low : 0;
            merged.shared_block = owner != nullptr ? owner->index : 0;
            merged.old_value = content(address, element_bytes);
            merged.new_value = now.value;
            merged.has_new_value = now.written == WrittenValue::number && is_whole;
        }
    }
    ++merged.pairs;
    ++pairs_;
    merged.pair_bytes += count_of(both);
    merged.equal_writes += equal ? 1 : 0;
}

/// Whether a write is about to write what is there, in the given bytes of the word.
bool RaceDetector::writes_the_same(const Looked& now, const Word& word, unsigned both) {
    if (now.written == WrittenValue::unknown) return false;
    if (now.written == WrittenValue::number) {
        const std::uint64_t changed = content(now.address, now.bytes) ^ now.value;
        // The word may begin in front of the access, or in it.
        const auto shift = static_cast<std::int64_t>(word.address - now.address) * 8;
        return ((shift < 0 ? changed << -shift : changed >> shift) & expanded(both)) == 0;
    }
    for (unsigned byte = 0; byte < word_bytes; ++byte) {
        if ((both >> byte & 1U) == 0) continue;
        const std::uint64_t at = word.address + byte;
        const std::uint64_t wanted =
            now.written == WrittenValue::fill ? now.value & 0xFF : content(now.value + (at - now.address), 1);
        if (content(at, 1) != wanted) return false;
    }
    return true;
}

RaceSide RaceDetector::described(RaceSide side) const {
    const auto known = side.kind == AccessClass::atomic ? disguised_.find(side.site) : disguised_.end();
    if (known == disguised_.end()) return side;
    side.kind = known->second.writes ? AccessClass::write : AccessClass::read;
    side.is_volatile = known->second.is_volatile;
    return side;
}

RaceCause RaceDetector::cause_of(Record before, AccessClass kind, const Looked& now) const {
    if (epoch_of(before) == pending_epoch) return RaceCause::copy_pending;
    if (kind == AccessClass::atomic && now.kind == AccessClass::atomic) return RaceCause::narrow_scope;
    const std::uint32_t epoch = epoch_of(before), thread = thread_of(before);
    const std::uint64_t owner = block_of(epoch);
    // Who has seen a value that the other thread, or its block, published behind its access.
    const auto missing_fence = [&](const Thread& observer) -> std::optional<RaceCause> {
        for (const std::uint64_t address : observer.observed) {
            const auto variable = variables_.find(address);
            if (address == 0 || variable == variables_.end()) continue;
            for (const auto& publisher : variable->second.publishers)
                // Where that is the very value that races, no fence is what is missing.
                if (publisher.epoch >= epoch && publisher.block == owner && address != now.address)
                    return publisher.thread != thread && epoch >= publisher.phase
                               ? RaceCause::no_barrier_before
                           : publisher.narrow_fence ? RaceCause::fence_too_narrow
                                                    : RaceCause::fence_missing;
        }
        return std::nullopt;
    };
    if (!now.block.sync.empty()) {
        const Thread& state = now.block.sync[now.thread];
        if (state.pending_device.contains(owner, thread, epoch) ||
            state.pending_block.contains(owner, thread, epoch))
            return RaceCause::lock_without_fence;
        if (const auto cause = missing_fence(state)) return *cause;
        // It may have come through a barrier from another thread of the block.
        if (owner != now.block.index)
            for (const Thread& other : now.block.sync)
                if (const auto cause = missing_fence(other)) return *cause;
    }
    if (owner != now.block.index)
        return (kind == AccessClass::atomic) != (now.kind == AccessClass::atomic) ? RaceCause::not_atomic
                                                                                  : RaceCause::no_order;
    return thread / lanes == now.thread / lanes ? RaceCause::no_warp_barrier : RaceCause::no_barrier;
}

std::vector<Race> RaceDetector::launch_ends() {
    std::vector<Race> all;
    all.reserve(races_.size());
    for (auto& [key, race] : races_) all.push_back(race);
    races_.clear();
    recent_.fill({});
    variables_.clear();
    return all;
}

}  // namespace cudasim::checks
