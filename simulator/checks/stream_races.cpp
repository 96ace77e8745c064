// See stream_races.h.
#include "simulator/checks/stream_races.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>
#include <utility>

#include "simulator/checks/finding_text.h"
#include "simulator/execution/launch.h"
#include "simulator/image/source_names.h"

namespace cudasim::checks {

namespace {

using execution::CopyKind;
using findings::CallChain;
using findings::Finding;
using findings::FindingKind;
using findings::RacingAccess;

std::string name_of(CopyKind kind) {
    switch (kind) {
        case CopyKind::to_device:
            return "copy to the device";
        case CopyKind::from_device:
            return "copy from the device";
        case CopyKind::within_device:
            return "copy within the device";
        case CopyKind::fill:
            return "fill of memory";
        case CopyKind::allocation:
            return "asynchronous allocation";
        case CopyKind::release:
            return "asynchronous free";
    }
    return "";
}

/// "script.py:12" as a place; none when it is empty.
CallChain chain_of(const std::string& place) {
    const auto colon = place.rfind(':');
    if (colon == std::string::npos) return {};
    findings::SourceLocation location{place.substr(0, colon), "", 0, 0};
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), location.line);
    return {location};
}

bool writes(Record record, AccessClass kind) {
    return kind == AccessClass::write || (kind == AccessClass::atomic && (record & only_reads) == 0);
}

}  // namespace

/// Two operations' accesses, by the same lines.
struct StreamRaces::Conflict {
    const Unit* first = nullptr;
    const Unit* second = nullptr;
    std::optional<Access> first_access, second_access;  ///< none: it is a copy
    bool first_writes = false, second_writes = false;   ///< of copies
    std::uint64_t address = 0;
    std::uint64_t words = 0, bytes = 0;
};

class StreamRaces::Conflicts {
  public:
    /// @param both the bytes of the word that both access, as a mask
    void add(const Conflict& conflict, std::uint64_t word, unsigned both) {
        const auto number = [](const std::optional<Access>& access, bool copy_writes) {
            if (!access) return static_cast<std::uint64_t>(copy_writes);
            return std::uint64_t{site_of(access->record)} << 2 | static_cast<std::uint64_t>(access->kind());
        };
        const Key key{conflict.first, number(conflict.first_access, conflict.first_writes), conflict.second,
                      number(conflict.second_access, conflict.second_writes)};
        const auto [found, is_new] = all_.try_emplace(key, conflict);
        if (is_new) {
            found->second.address = word + static_cast<unsigned>(__builtin_ctz(both));
            order_.push_back(&found->second);
        }
        ++found->second.words;
        found->second.bytes += static_cast<unsigned>(__builtin_popcount(both));
    }
    /// In the order in which they were found.
    [[nodiscard]] const std::vector<const Conflict*>& all() const { return order_; }

  private:
    using Key = std::tuple<const Unit*, std::uint64_t, const Unit*, std::uint64_t>;
    std::map<Key, Conflict> all_;
    std::vector<const Conflict*> order_;
};

StreamRaces::StreamRaces(RaceShadow& shadow, RaceDetector& detector) : shadow_(shadow), detector_(detector) {}

void StreamRaces::set_order(streams::OperationOrder& order) {
    order_ = &order;
    detector_.keep_records(true);
}

void StreamRaces::allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) {
    const std::lock_guard lock(mutex_);
    allocations_[address] = {bytes, std::string(label)};
}

void StreamRaces::freed(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) return;
    const std::uint64_t end = address + found->second.bytes;
    std::erase_if(accesses_, [&](const Access& each) {
        return each.word() + word_bytes > address && each.word() < end;
    });
    for (Unit& unit : units_)
        std::erase_if(unit.ranges, [&](const Range& each) {
            return each.address < end && each.address + each.bytes > address;
        });
    allocations_.erase(found);
}

// -- which operations are compared --------------------------------------------------------------------------

bool StreamRaces::is_unordered(const Unit& earlier, streams::OperationOrder::Number later) const {
    return !order_->is_before(earlier.operation, later);
}

/// Operations that no later one can race with.
void StreamRaces::forget_old() {
    const auto is_old = [&](const Unit& unit) { return order_->is_over(unit.operation); };
    if (std::ranges::none_of(units_, is_old)) return;
    std::erase_if(units_, is_old);
    find_launches(0);
    std::erase_if(accesses_, [&](const Access& each) { return launch_of(epoch_of(each.record)) == nullptr; });
}

void StreamRaces::find_launches(streams::OperationOrder::Number compared) {
    launches_.clear();
    for (const Unit& unit : units_)
        if (unit.is_launch())
            launches_.push_back({unit.first_epoch, unit.end_epoch, &unit, is_unordered(unit, compared)});
}

const StreamRaces::Launch* StreamRaces::launch_of(std::uint32_t epoch) const {
    const auto behind = std::ranges::upper_bound(launches_, epoch, {}, &Launch::first_epoch);
    if (behind == launches_.begin()) return nullptr;
    const Launch& launch = *std::prev(behind);
    return epoch < launch.end_epoch ? &launch : nullptr;
}

/// Adds accesses of launches, ordered by words. Where one of the operation that find_launches() was called
/// for covers an earlier one that is ordered before it, that is forgotten: the later one stands for it. So
/// there are no more for a word than streams that nothing orders.
void StreamRaces::add_accesses(const std::vector<Access>& found) {
    std::vector<Access> all;
    all.reserve(accesses_.size() + found.size());
    auto fresh = found.begin();
    for (auto old = accesses_.begin(); old != accesses_.end(); ++old) {
        while (fresh != found.end() && fresh->word() < old->word()) all.push_back(*fresh++);
        const Launch* const launch = launch_of(epoch_of(old->record));
        bool stays = launch != nullptr;
        for (auto each = fresh; stays && each != found.end() && each->word() == old->word(); ++each)
            stays = launch->is_unordered || each->kind() != old->kind() ||
                    (bytes_of(old->record) & ~bytes_of(each->record)) != 0;
        if (stays) all.push_back(*old);
    }
    all.insert(all.end(), fresh, found.end());
    accesses_ = std::move(all);
}

/// Calls body(record, kind) for what the shadow has of a word.
template <typename Body>
void StreamRaces::for_records(std::uint64_t word, const Body& body) const {
    const Cell* const cell = shadow_.find_cell(word);
    if (cell == nullptr) return;
    body(cell->written, AccessClass::write);
    body(cell->atomic, AccessClass::atomic);
    for (const Record record : cell->read) body(record, AccessClass::read);
    if (((cell->written | cell->atomic | cell->read[0] | cell->read[1]) & has_more) == 0) return;
    const CrowdedWord* const crowd = shadow_.find_crowd(word);
    if (crowd == nullptr) return;
    for (const CrowdedAccess& each : crowd->accesses) body(each.record, each.kind);
}

/// What is left in the shadow of accesses from that epoch on.
std::vector<StreamRaces::Access> StreamRaces::gather(std::uint32_t first_epoch) const {
    std::vector<Access> found;
    const auto take = [&](std::uint64_t word, Record record, AccessClass kind) {
        if (epoch_of(record) < first_epoch) return;
        if (kind == AccessClass::atomic && scope_of(record) == AtomicScope::mixed) return;
        found.push_back({word | static_cast<std::uint64_t>(kind), record});
    };
    for (const auto& [address, allocation] : allocations_) {
        const std::uint64_t end = address + allocation.bytes;
        for (std::uint64_t word = address & ~std::uint64_t{word_bytes - 1}; word < end; word += word_bytes) {
            for_records(word, [&](Record record, AccessClass kind) { take(word, record, kind); });
        }
    }
    return found;
}

/// Accesses that the operation that begins could cover: what is not ordered before it is copied.
void StreamRaces::gather_earlier(streams::OperationOrder::Number later) {
    const auto is_left = [](const Unit& unit) { return unit.is_launch() && !unit.gathered; };
    if (std::ranges::none_of(units_,
                             [&](const Unit& unit) { return is_left(unit) && is_unordered(unit, later); }))
        return;
    std::uint32_t first_epoch = ~std::uint32_t{0};
    for (const Unit& unit : units_)
        if (is_left(unit)) first_epoch = std::min(first_epoch, unit.first_epoch);
    std::vector<Access> found = gather(first_epoch);
    find_launches(later);
    std::erase_if(found, [&](const Access& each) {
        const Launch* const launch = launch_of(epoch_of(each.record));
        return launch == nullptr || launch->unit->gathered;
    });
    for (Unit& unit : units_)
        if (unit.is_launch()) unit.gathered = true;
    for (Launch& launch : launches_)
        launch.is_unordered = true;  // no one of them stands for another one here
    add_accesses(found);
}

std::span<const StreamRaces::Access> StreamRaces::within(const std::vector<Access>& accesses,
                                                         const Range& range) const {
    const auto low =
        std::ranges::lower_bound(accesses, range.address & ~std::uint64_t{word_bytes - 1}, {}, &Access::word);
    const auto high =
        std::ranges::lower_bound(low, accesses.end(), range.address + range.bytes, {}, &Access::word);
    return {low, high};
}

// -- launches and copies ------------------------------------------------------------------------------------

void StreamRaces::launch_begins(const execution::LaunchBegin& launch) {
    if (!compares()) return;
    const std::lock_guard lock(mutex_);
    forget_old();
    if (detector_.begins_anew()) {
        units_.clear();
        accesses_.clear();
    }
    if (units_.empty()) detector_.forget_records();
    const auto operation = streams::OperationOrder::running();
    gather_earlier(operation);
    Unit unit;
    unit.operation = operation;
    // Without the types that its specialisation is for.
    unit.name = "kernel " + image::demangled(std::string(launch.kernel.substr(0, launch.kernel.find('$'))));
    unit.place = order_->place_of(operation);
    unit.grid = launch.grid;
    unit.block = launch.block;
    unit.first_epoch = detector_.next_epoch();
    unit.end_epoch = ~std::uint32_t{0};
    units_.push_back(std::move(unit));
}

void StreamRaces::launch_ends(execution::ObserverFindings& findings, std::uint32_t sites) {
    if (!compares()) return;
    const std::lock_guard lock(mutex_);
    const auto running = std::ranges::find(units_, ~std::uint32_t{0}, &Unit::end_epoch);
    if (running == units_.end()) return;
    Unit& unit = *running;
    unit.end_epoch = detector_.next_epoch();
    if (unit.end_epoch <= unit.first_epoch || unit.operation == 0) {  // no thread ran, or epochs began anew
        units_.erase(running);
        return;
    }
    for (std::uint32_t site = 0; site < sites; ++site) unit.places.push_back(findings.place(site));
    if (std::ranges::none_of(units_, [&](const Unit& each) { return is_unordered(each, unit.operation); }))
        return;
    std::vector<Access> found = gather(unit.first_epoch);
    find_launches(unit.operation);
    Conflicts conflicts;
    for (const Unit& earlier : units_) {
        if (earlier.is_launch() || !is_unordered(earlier, unit.operation)) continue;
        for (const Range& range : earlier.ranges)
            for (const Access& access : within(found, range)) {
                const unsigned both =
                    bytes_of(access.record) & bytes_in_word(range.address, range.bytes, access.word());
                if (both != 0 && (range.writes || writes(access.record, access.kind())))
                    conflicts.add({.first = &earlier,
                                   .second = &unit,
                                   .second_access = access,
                                   .first_writes = range.writes},
                                  access.word(), both);
            }
    }
    auto earlier = accesses_.begin();
    for (const Access& access : found) {
        while (earlier != accesses_.end() && earlier->word() < access.word()) ++earlier;
        for (auto each = earlier; each != accesses_.end() && each->word() == access.word(); ++each) {
            const unsigned both = bytes_of(each->record) & bytes_of(access.record);
            if (both == 0 || (!writes(each->record, each->kind()) && !writes(access.record, access.kind())))
                continue;
            const bool both_atomic =
                each->kind() == AccessClass::atomic && access.kind() == AccessClass::atomic;
            if (both_atomic && plain_scope(each->record) != AtomicScope::block &&
                plain_scope(access.record) != AtomicScope::block)
                continue;
            const Launch* const owner = launch_of(epoch_of(each->record));
            if (owner == nullptr || !owner->is_unordered) continue;
            conflicts.add(
                {.first = owner->unit, .second = &unit, .first_access = *each, .second_access = access},
                access.word(), both);
        }
    }
    for (const Conflict* const conflict : conflicts.all()) findings.add(finding_of(*conflict, &findings));
    unit.gathered = true;
    add_accesses(found);
}

void StreamRaces::copies(const execution::ObservedCopy& copy) {
    const auto operation = streams::OperationOrder::running();
    if (!compares() || operation == 0) return;
    const std::lock_guard lock(mutex_);
    forget_old();
    Unit unit;
    unit.operation = operation;
    unit.name = name_of(copy.kind);
    unit.place = order_->place_of(operation);
    if (copy.kind != CopyKind::from_device) unit.ranges.push_back({copy.target, copy.bytes, true});
    if (copy.kind == CopyKind::from_device || copy.kind == CopyKind::within_device)
        unit.ranges.push_back({copy.source, copy.bytes, false});
    gather_earlier(operation);
    find_launches(operation);
    Conflicts conflicts;
    for (const Range& range : unit.ranges) {
        for (const Access& access : within(accesses_, range)) {
            const unsigned both =
                bytes_of(access.record) & bytes_in_word(range.address, range.bytes, access.word());
            if (both == 0 || (!range.writes && !writes(access.record, access.kind()))) continue;
            const Launch* const owner = launch_of(epoch_of(access.record));
            if (owner != nullptr && owner->is_unordered)
                conflicts.add({.first = owner->unit,
                               .second = &unit,
                               .first_access = access,
                               .second_writes = range.writes},
                              access.word(), both);
        }
        for (const Unit& earlier : units_) {
            if (earlier.is_launch() || !is_unordered(earlier, operation)) continue;
            for (const Range& other : earlier.ranges) {
                const std::uint64_t low = std::max(range.address, other.address),
                                    high = std::min(range.address + range.bytes, other.address + other.bytes);
                if (low >= high || (!range.writes && !other.writes)) continue;
                for (std::uint64_t word = low & ~std::uint64_t{word_bytes - 1}; word < high;
                     word += word_bytes)
                    conflicts.add({.first = &earlier,
                                   .second = &unit,
                                   .first_writes = other.writes,
                                   .second_writes = range.writes},
                                  word, bytes_in_word(low, high - low, word));
            }
        }
    }
    for (const Conflict* const conflict : conflicts.all())
        of_copies_.push_back(finding_of(*conflict, nullptr));
    // It stands for earlier copies of the same bytes that are ordered before it.
    std::erase_if(units_, [&](const Unit& each) {
        return !each.is_launch() && each.ranges == unit.ranges && !is_unordered(each, operation);
    });
    units_.push_back(std::move(unit));
}

StreamRaces::Touched StreamRaces::touched_by(streams::OperationOrder::Number operation, std::uint64_t address,
                                             std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    find_launches(0);
    Touched touched;
    const auto take = [&](std::uint64_t word, Record record, AccessClass kind) {
        const Launch* const launch = launch_of(epoch_of(record));
        if (launch == nullptr || launch->unit->operation != operation) return;
        if ((bytes_of(record) & bytes_in_word(address, bytes, word)) == 0) return;
        (writes(record, kind) ? touched.written : touched.read) = true;
    };
    for (const Access& each : within(accesses_, {address, bytes}))
        take(each.word(), each.record, each.kind());
    for (std::uint64_t word = address & ~std::uint64_t{word_bytes - 1}; word < address + bytes;
         word += word_bytes)
        for_records(word, [&](Record record, AccessClass kind) { take(word, record, kind); });
    return touched;
}

// -- findings -----------------------------------------------------------------------------------------------

std::vector<Finding> StreamRaces::take_findings_of_copies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(of_copies_, {});
}

std::optional<findings::MemoryObject> StreamRaces::object(std::uint64_t address) const {
    const auto behind = allocations_.upper_bound(address);
    if (behind == allocations_.begin()) return std::nullopt;
    const auto& [low, allocation] = *std::prev(behind);
    if (address - low >= allocation.bytes) return std::nullopt;
    return findings::MemoryObject{.name = allocation.label,
                                  .space = "global",
                                  .address = low,
                                  .bytes = allocation.bytes,
                                  .offset = static_cast<std::int64_t>(address - low)};
}

RacingAccess StreamRaces::side(const Unit& unit, const Access* access, bool copy_writes) const {
    RacingAccess result;
    if (access == nullptr) {
        result.what = unit.name + (copy_writes || unit.ranges.size() < 2 ? "" : ", which reads here");
        result.of_host = true;
        result.location = chain_of(unit.place);
        return result;
    }
    const std::string kind = access->kind() == AccessClass::atomic  ? "atomic operation"
                             : access->kind() == AccessClass::write ? "write"
                                                                    : "read";
    result.what = kind + " in " + unit.name + (unit.place.empty() ? "" : ", launched at " + unit.place + ",");
    const std::uint64_t block = detector_.block_of(epoch_of(access->record));
    const std::uint32_t thread = thread_of(access->record);
    result.thread = {block, thread, execution::unlinear(block, unit.grid),
                     execution::unlinear(thread, unit.block)};
    const std::uint32_t site = site_of(access->record);
    if (site < unit.places.size()) result.location = unit.places[site];
    return result;
}

Finding StreamRaces::finding_of(const Conflict& conflict, const execution::ObserverFindings* launch) const {
    Finding finding;
    finding.kind = FindingKind::data_race;
    finding.severity = findings::info(finding.kind).severity;
    finding.object = launch != nullptr ? launch->object(conflict.address, 0) : object(conflict.address);
    finding.accesses = {side(*conflict.first, conflict.first_access ? &*conflict.first_access : nullptr,
                             conflict.first_writes),
                        side(*conflict.second, conflict.second_access ? &*conflict.second_access : nullptr,
                             conflict.second_writes)};
    RacingAccess& first = finding.accesses[0];
    RacingAccess& second = finding.accesses[1];
    if (!second.of_host) second.what.resize(second.what.find(" in kernel"));  // the launch that is reported
    finding.thread = second.thread;
    finding.location = second.location;
    finding.count = conflict.words;
    finding.message = "data race: " + second.what + " of " + object_text(finding.object, conflict.address) +
                      ", and " + first.what;
    if (!first.of_host) finding.message += " by " + findings::coordinates(first.thread);
    finding.message += place_text(first.location) +
                       "; nothing orders the two streams: neither an event nor a wait of the host lies "
                       "between them (" +
                       std::to_string(conflict.words) + (conflict.words == 1 ? " pair, " : " pairs, ") +
                       std::to_string(conflict.bytes) + (conflict.bytes == 1 ? " byte)" : " bytes)");
    return finding;
}

}  // namespace cudasim::checks
