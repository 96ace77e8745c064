// See breakpoints.h.
#include "debugger/control/breakpoints.h"

#include <algorithm>

namespace cudasim::debugger {

bool BreakpointRequest::is_same(const BreakpointRequest& other) const {
    BreakpointRequest one = *this;
    one.counted = other.counted;
    return one == other;
}

std::vector<Breakpoint> Breakpoints::set_lines(const std::string& file,
                                               std::vector<BreakpointRequest> requests) {
    return replace(false, normalised_path(file), std::move(requests));
}

std::vector<Breakpoint> Breakpoints::set_functions(std::vector<BreakpointRequest> requests) {
    return replace(true, {}, std::move(requests));
}

std::vector<Breakpoint> Breakpoints::replace(bool functions, const std::string& file,
                                             std::vector<BreakpointRequest> requests) {
    const std::lock_guard lock(mutex_);
    std::vector<Breakpoint> old, now;
    for (auto it = all_.begin(); it != all_.end();) {
        const bool is_function = !it->request.function.empty();
        if (!it->request.is_call && is_function == functions &&
            (functions || normalised_path(it->request.file) == file)) {
            old.push_back(std::move(*it));
            it = all_.erase(it);
        } else {
            ++it;
        }
    }
    for (BreakpointRequest& request : requests) {
        Breakpoint breakpoint;
        const auto same =
            std::ranges::find_if(old, [&](const Breakpoint& each) { return each.request.is_same(request); });
        if (same != old.end()) {
            breakpoint = std::move(*same);
            old.erase(same);
        } else {
            // A changed condition or range is the same breakpoint where the client says so; other hit counts
            // begin anew.
            const auto renewed = std::ranges::find_if(old, [&](const Breakpoint& each) {
                return request.id && each.request.id == request.id &&
                       (request.counted || each.request.hits_text == request.hits_text);
            });
            breakpoint.hits = std::max(renewed != old.end() ? renewed->hits : 0, request.counted.value_or(0));
            breakpoint.id = request.id.value_or(next_id_);
            next_id_ = std::max(next_id_, breakpoint.id < 1'000'000 ? breakpoint.id + 1 : next_id_ + 1);
            breakpoint.line = request.line;
            breakpoint.message = "pending: no kernel with code there has been launched";
            breakpoint.request = std::move(request);
            for (auto code = known_.rbegin(); code != known_.rend() && !breakpoint.verified; ++code)
                (void)place(breakpoint, **code);
        }
        now.push_back(breakpoint);
        all_.push_back(std::move(breakpoint));
    }
    ++version_;
    return now;
}

/// Whether that has changed what is known of it.
bool Breakpoints::place(Breakpoint& breakpoint, const KernelCode& code) const {
    const BreakpointRequest& request = breakpoint.request;
    const KernelCode::Line* line = nullptr;
    if (request.function.empty()) {
        line = code.line(request.file, request.line);
    } else if (const auto entries = code.entries(request.function); !entries.empty()) {
        line = entries.front();
    }
    if (line == nullptr) return false;
    std::string message;
    if (request.function.empty() && line->line != request.line)
        message = "line " + std::to_string(request.line) + " has no code; it stops at line " +
                  std::to_string(line->line);
    if (breakpoint.verified && breakpoint.line == line->line && breakpoint.file == line->file) return false;
    breakpoint.verified = true;
    breakpoint.line = line->line;
    breakpoint.file = line->file;
    breakpoint.message = std::move(message);
    return true;
}

void Breakpoints::clear() {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const Breakpoint& each) { return !each.request.is_call; });
    for (Breakpoint& call : all_) call.is_silent = false;
    silent_calls_.clear();
    ++version_;
}

void Breakpoints::silence(const std::vector<std::pair<std::string, std::uint32_t>>& calls) {
    std::set<std::pair<std::string, std::uint32_t>> silent;
    for (const auto& [file, line] : calls) silent.emplace(normalised_path(file), line);
    const std::lock_guard lock(mutex_);
    silent_calls_ = std::move(silent);
    for (Breakpoint& each : all_)
        if (each.request.is_call)
            each.is_silent = silent_calls_.contains({normalised_path(each.file), each.line});
    ++version_;
}

std::string Breakpoints::name(std::int64_t id) const {
    if (id >= first_call) {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(all_, id, &Breakpoint::id);
        if (found != all_.end()) return "breakpoint() in line " + std::to_string(found->line);
    }
    return "breakpoint " + std::to_string(id);
}

void Breakpoints::add_calls(const KernelCode& code) {
    for (const KernelCode::Line& call : code.calls()) {
        const bool is_known = std::ranges::any_of(all_, [&](const Breakpoint& each) {
            return each.request.is_call && each.line == call.line && each.file == call.file;
        });
        if (is_known) continue;
        Breakpoint added;
        added.request.is_call = added.verified = true;
        added.id = next_call_++;
        added.request.file = added.file = call.file;
        added.request.line = added.line = call.line;
        added.is_silent = silent_calls_.contains({normalised_path(call.file), call.line});
        all_.push_back(std::move(added));
    }
}

std::vector<Breakpoint> Breakpoints::resolve(const std::shared_ptr<const KernelCode>& code) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(known_, code) == known_.end()) {
        if (known_.size() >= most_known_kernels) known_.erase(known_.begin());
        known_.push_back(code);
        add_calls(*code);
    }
    std::vector<Breakpoint> changed;
    for (Breakpoint& breakpoint : all_)
        if (!breakpoint.verified && !breakpoint.refused && place(breakpoint, *code))
            changed.push_back(breakpoint);
    return changed;
}

std::vector<Breakpoint> Breakpoints::snapshot() const {
    const std::lock_guard lock(mutex_);
    return all_;
}

Breakpoint* Breakpoints::find(std::int64_t id) {
    const auto found = std::ranges::find(all_, id, &Breakpoint::id);
    return found != all_.end() ? &*found : nullptr;
}

std::uint64_t Breakpoints::count_hit(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    Breakpoint* breakpoint = find(id);
    return breakpoint != nullptr ? ++breakpoint->hits : 0;
}

bool Breakpoints::tell_failure(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    Breakpoint* breakpoint = find(id);
    return breakpoint != nullptr && !std::exchange(breakpoint->failure_told, true);
}

std::optional<Breakpoint> Breakpoints::refuse(std::int64_t id, const std::string& why) {
    const std::lock_guard lock(mutex_);
    Breakpoint* breakpoint = find(id);
    if (breakpoint == nullptr) return std::nullopt;
    breakpoint->refused = true;
    breakpoint->verified = false;
    breakpoint->message = "the condition '" + breakpoint->request.condition + "' cannot be used: " + why;
    return *breakpoint;
}

std::vector<Breakpoint> Breakpoints::renewed(std::vector<Breakpoint> breakpoints) const {
    const std::lock_guard lock(mutex_);
    for (Breakpoint& each : breakpoints)
        if (const auto found = std::ranges::find(all_, each.id, &Breakpoint::id); found != all_.end())
            each = *found;
    return breakpoints;
}

void Breakpoints::remove(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const Breakpoint& each) { return each.id == id; });
    ++version_;
}

}  // namespace cudasim::debugger
