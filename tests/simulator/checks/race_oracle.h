// A slow race detector that is plainly right: a vector clock with an entry for every thread of the launch,
// and a list of all accesses ever made. The rules are those at the head of race_detector.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "simulator/checks/race_detector.h"

namespace cudasim::checks {

class RaceOracle {
  public:
    using Clock = std::vector<std::uint32_t>;

    struct Past {
        std::uint32_t thread;  ///< of the launch
        std::uint32_t time;
        std::uint64_t address, bytes;
        AccessClass kind;
        AtomicScope scope;
        bool changes;             ///< no load, nor a compare-and-swap that compared unequal
        bool is_stored = false;   ///< by an atomic store
        bool waits = false;       ///< AtomicAccess::waits
        bool is_decided = false;  ///< PlainAccess::is_decided
        /// Of an atomic write: its thread came behind the last one to the word, or there was none.
        bool knows_others = true;
    };

    RaceOracle(std::uint32_t blocks, std::uint32_t threads, RaceModel model)
        : threads_(threads), model_(model), all_(std::size_t{blocks} * threads) {
        for (auto& each : all_) each.knows.assign(all_.size(), 0);
        for (auto& each : all_)
            each.fenced_device = each.fenced_block = each.pending_device = each.pending_block =
                Clock(all_.size(), 0);
    }

    /// Those that race with this access.
    std::vector<Past> plain(std::uint32_t thread, const PlainAccess& access) {
        const AccessClass kind = access.writes ? AccessClass::write : AccessClass::read;
        return add({.thread = thread,
                    .time = 0,
                    .address = access.address,
                    .bytes = access.bytes,
                    .kind = kind,
                    .scope = {},
                    .changes = access.writes,
                    .is_decided = access.is_decided});
    }

    std::vector<Past> atomic(std::uint32_t thread, const AtomicAccess& access) {
        auto found = add({.thread = thread,
                          .time = 0,
                          .address = access.address,
                          .bytes = access.bytes,
                          .kind = AccessClass::atomic,
                          .scope = access.scope,
                          .changes = access.kind != AtomicKind::load && access.wrote,
                          .is_stored = access.kind == AtomicKind::store,
                          .waits = access.waits});
        if (access.is_verified) return found;
        Thread& me = all_[thread];
        Variable& variable = variables_[access.address];
        const bool wide = access.scope != AtomicScope::block;
        const std::uint32_t block = thread / threads_;
        using jit::MemoryOrder;
        const bool acquires = access.order == MemoryOrder::acquire ||
                              access.order == MemoryOrder::acquire_release ||
                              access.order == MemoryOrder::sequential;
        const bool releases = access.order == MemoryOrder::release ||
                              access.order == MemoryOrder::acquire_release ||
                              access.order == MemoryOrder::sequential;
        if (access.kind != AtomicKind::store) {
            const bool at_once =
                acquires || (model_ == RaceModel::idiom && access.kind != AtomicKind::compare_and_swap);
            if (wide) join(at_once ? me.knows : me.pending_device, variable.device);
            join(at_once ? me.knows : me.pending_block, variable.blocks[block]);
        }
        if (access.kind == AtomicKind::load || !access.wrote) return found;
        if (releases) {
            me.fenced_block = me.knows;
            if (wide) me.fenced_device = me.knows;
        }
        if (access.kind == AtomicKind::store) variable = {};
        if (wide) join(variable.device, me.fenced_device);
        join(variable.blocks[block], me.fenced_block);
        return found;
    }

    void fence(std::uint32_t thread, jit::MemoryOrder order, bool device) {
        Thread& me = all_[thread];
        if (order != jit::MemoryOrder::release) {
            join(me.knows, me.pending_block);
            me.pending_block = {};
            if (device) join(me.knows, me.pending_device);
            if (device) me.pending_device = {};
        }
        if (order == jit::MemoryOrder::acquire) return;
        me.fenced_block = me.knows;
        if (device) me.fenced_device = me.knows;
    }

    void block_barrier(std::uint32_t block) {
        std::vector<std::uint32_t> members;
        for (std::uint32_t each = 0; each < threads_; ++each) members.push_back(block * threads_ + each);
        meet(members, members);
    }
    void grid_barrier() {
        std::vector<std::uint32_t> members;
        for (std::uint32_t each = 0; each < all_.size(); ++each) members.push_back(each);
        meet(members, members);
    }
    /// Threads of the launch.
    void meet(const std::vector<std::uint32_t>& came, const std::vector<std::uint32_t>& waiting) {
        Clock knows, device, narrow;
        for (const auto each : came) {
            join(knows, all_[each].knows);
            join(device, all_[each].fenced_device);
            join(narrow, all_[each].fenced_block);
        }
        for (const auto each : waiting) {
            join(all_[each].knows, knows);
            join(all_[each].fenced_device, device);
            join(all_[each].fenced_block, narrow);
        }
    }

  private:
    struct Thread {
        Clock knows, fenced_device, fenced_block, pending_device, pending_block;
    };
    struct Variable {
        Clock device;
        std::map<std::uint32_t, Clock> blocks;
    };

    static void join(Clock& into, const Clock& from) {
        if (into.size() < from.size()) into.resize(from.size(), 0);
        for (std::size_t each = 0; each < from.size(); ++each) into[each] = std::max(into[each], from[each]);
    }

    static bool is_update_of(const Past& past, const Past& now) {
        return past.kind == AccessClass::atomic && past.changes && past.address == now.address &&
               past.bytes == now.bytes;
    }
    [[nodiscard]] bool is_known(const Past& past, const Past& now) const {
        return past.time <= all_[now.thread].knows[past.thread];
    }
    /// Whether it comes behind the last atomic write of its word, or behind a load that waited for that.
    [[nodiscard]] bool knows_last(const Past& now) const {
        bool knows = false;
        for (const Past& past : past_) {
            if (is_update_of(past, now))
                knows = is_known(past, now);
            else if (past.waits && past.address == now.address)
                knows = knows || is_known(past, now);
        }
        return knows;
    }
    /// Behind a load that waited for the last write of the word.
    [[nodiscard]] bool has_waited(const Past& now) const {
        bool has = false;
        for (const Past& past : past_) {
            if (is_update_of(past, now))
                has = false;
            else if (past.waits && past.address == now.address)
                has = has || is_known(past, now);
        }
        return has;
    }
    /// Behind the last write of the word, which has seen those before it: an update always has, a store if it
    /// came behind them.
    [[nodiscard]] bool is_behind_writes(const Past& now) const {
        const Past* last = nullptr;
        bool all_known = true;
        for (const Past& past : past_) {
            if (!is_update_of(past, now)) continue;
            if (past.is_stored && !past.knows_others) return false;
            all_known = all_known && past.knows_others;
            last = &past;
        }
        return last != nullptr &&
               (has_waited(now) || ((now.is_decided || all_known) && is_known(*last, now)));
    }

    /// Behind the last write of the word, and the read was its thread's before it has stored there.
    [[nodiscard]] bool is_behind_reader(const Past& read, const Past& now) const {
        bool has_stored = false, is_behind_read = false, all_known = true;
        for (const Past& past : past_) {
            if (&past == &read) is_behind_read = true;
            if (!is_update_of(past, now)) continue;
            if (past.is_stored && !past.knows_others) return false;
            all_known = all_known && past.knows_others;
            has_stored = has_stored || (is_behind_read && past.is_stored && past.thread == read.thread);
        }
        return has_stored && (has_waited(now) || (all_known && knows_last(now)));
    }

    std::vector<Past> add(Past now) {
        std::vector<Past> racing;
        const Clock& knows = all_[now.thread].knows;
        const bool is_first =
            std::ranges::none_of(past_, [&](const Past& past) { return is_update_of(past, now); });
        now.knows_others = is_first || knows_last(now);
        for (const Past& past : past_) {
            if (past.thread == now.thread || past.address >= now.address + now.bytes ||
                now.address >= past.address + past.bytes)
                continue;
            if (!past.changes && !now.changes) continue;
            if (now.kind != AccessClass::atomic && is_update_of(past, now) && is_behind_writes(now)) continue;
            if (past.kind == AccessClass::read && is_behind_reader(past, now)) continue;
            if (past.kind == AccessClass::atomic && now.kind == AccessClass::atomic) {
                const bool same_block = past.thread / threads_ == now.thread / threads_;
                const bool wide = past.scope != AtomicScope::block && now.scope != AtomicScope::block;
                if (same_block || wide) continue;
            }
            if (past.time > knows[past.thread]) racing.push_back(past);
        }
        now.time = ++all_[now.thread].knows[now.thread];
        past_.push_back(now);
        return racing;
    }

    std::uint32_t threads_;
    RaceModel model_;
    std::vector<Thread> all_;
    std::map<std::uint64_t, Variable> variables_;
    std::vector<Past> past_;
};

}  // namespace cudasim::checks
