// See watchpoints.h.
#include "debugger/control/watchpoints.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cudasim::debugger {

bool WatchpointRequest::is_same(const WatchpointRequest& other) const {
    WatchpointRequest one = *this;
    one.counted = other.counted;
    return one == other;
}

bool WatchTarget::is_same(const WatchTarget& other) const {
    return expression == other.expression && is_variable == other.is_variable && space == other.space &&
           ranges == other.ranges && block == other.block && frame == other.frame &&
           variable == other.variable && offset == other.offset && bytes == other.bytes &&
           launch == other.launch;
}

// A data id is the place in the list and the expression: "3:s[2]".

std::string Watchpoints::name(WatchTarget target) {
    const std::lock_guard lock(mutex_);
    auto known =
        std::ranges::find_if(targets_, [&](const WatchTarget& each) { return each.is_same(target); });
    if (known == targets_.end()) {
        if (targets_.size() >= most_names) return {};
        known = targets_.insert(targets_.end(), std::move(target));
    }
    return std::to_string(known - targets_.begin() + 1) + ":" + known->expression;
}

std::optional<WatchTarget> Watchpoints::target(const std::string& data_id) const {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(data_id.data(), data_id.data() + data_id.size(), number);
    const std::lock_guard lock(mutex_);
    if (error != std::errc() || number == 0 || number > targets_.size()) return std::nullopt;
    const WatchTarget& found = targets_[number - 1];
    const auto rest = std::string_view(data_id).substr(static_cast<std::size_t>(end - data_id.data()));
    if (!found.describe || rest != ":" + found.expression) return std::nullopt;
    return found;
}

std::vector<std::optional<Watchpoint>> Watchpoints::set(std::vector<WatchpointRequest> requests) {
    std::vector<std::optional<Watchpoint>> now;
    std::vector<std::optional<WatchTarget>> targets;
    for (const WatchpointRequest& request : requests) targets.push_back(target(request.data_id));
    const std::lock_guard lock(mutex_);
    std::vector<Watchpoint> old = std::exchange(all_, {});
    for (std::size_t i = 0; i < requests.size(); ++i) {
        WatchpointRequest& request = requests[i];
        if (!targets[i]) {
            now.emplace_back();
            continue;
        }
        Watchpoint watchpoint;
        const auto same =
            std::ranges::find_if(old, [&](const Watchpoint& each) { return each.request.is_same(request); });
        if (same != old.end()) {
            watchpoint = std::move(*same);
            old.erase(same);
        } else {
            // As with breakpoints: the client says that it is the same one, and other hit counts begin anew.
            const auto renewed = std::ranges::find_if(old, [&](const Watchpoint& each) {
                return request.id && each.request.id == request.id &&
                       (request.counted || each.request.hits_text == request.hits_text);
            });
            watchpoint.hits = std::max(renewed != old.end() ? renewed->hits : 0, request.counted.value_or(0));
            watchpoint.id = request.id.value_or(next_id_);
            if (!request.id) ++next_id_;
            watchpoint.target = std::move(*targets[i]);
            if (request.all_blocks) watchpoint.target.block.reset();
            watchpoint.request = std::move(request);
        }
        all_.push_back(watchpoint);
        now.emplace_back(std::move(watchpoint));
    }
    ++version_;
    return now;
}

void Watchpoints::clear() {
    const std::lock_guard lock(mutex_);
    all_.clear();
    ++version_;
}

std::vector<Watchpoint> Watchpoints::snapshot() const {
    const std::lock_guard lock(mutex_);
    return all_;
}

Watchpoint* Watchpoints::find(std::int64_t id) {
    const auto found = std::ranges::find(all_, id, &Watchpoint::id);
    return found != all_.end() ? &*found : nullptr;
}

std::uint64_t Watchpoints::count_hit(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    Watchpoint* watchpoint = find(id);
    return watchpoint != nullptr ? ++watchpoint->hits : 0;
}

bool Watchpoints::tell_failure(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    Watchpoint* watchpoint = find(id);
    return watchpoint != nullptr && !std::exchange(watchpoint->failure_told, true);
}

void Watchpoints::remove(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const Watchpoint& each) { return each.id == id; });
    ++version_;
}

std::vector<Watchpoint> Watchpoints::remove_of_launch(std::uint64_t launch) {
    std::vector<Watchpoint> removed;
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const Watchpoint& each) {
        if (each.target.launch != launch) return false;
        removed.push_back(each);
        return true;
    });
    // Data ids keep their numbers, but not what they name.
    for (WatchTarget& each : targets_)
        if (each.launch == launch) each.describe = nullptr;
    if (!removed.empty()) ++version_;
    return removed;
}

}  // namespace cudasim::debugger
