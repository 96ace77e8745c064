// See thread_ids.h.
#include "debugger/dap/thread_ids.h"

#include "debugger/dap/message.h"

namespace cudasim::debugger {

using execution::ThreadRef;
using execution::ThreadState;

namespace {

std::string point_text(const findings::Dim3& point) {
    return "(" + std::to_string(point.x) + "," + std::to_string(point.y) + "," + std::to_string(point.z) +
           ")";
}

bool has(const ThreadGroup& group, const Control& control, ThreadRef thread) {
    if (!contains(group.blocks, thread.block) || !contains(group.threads, thread.thread)) return false;
    if (group.on_device != control.launch().is_on_device(thread.block)) return false;
    if (control.launch().state(thread) != group.state) return false;
    const auto site = control.launch().site(thread);
    return (site ? control.code().line_of(*site) : nullptr) == group.line;
}

}  // namespace

std::vector<ThreadIds::Group> ThreadIds::groups(const Control& control) {
    if (control.number() != launch_) {
        ids_.clear();
        launch_ = control.number();
    }
    std::vector<Group> result;
    bool found = false;
    for (ThreadGroup& group : control.groups()) {
        Place place{group.state, group.file, group.line != nullptr ? group.line->line : 0};
        if (!group.on_device) std::get<1>(place) = "elsewhere";
        const auto [it, is_new] =
            ids_.try_emplace(std::move(place), focus + 1 + static_cast<std::int64_t>(ids_.size()));
        const bool has_focus = !found && has(group, control, control.focus());
        found |= has_focus;
        result.push_back({it->second, std::move(group), has_focus});
    }
    return result;
}

ThreadRef ThreadIds::thread(const Control& control, std::int64_t id) {
    if (id == focus) return control.focus();
    for (const Group& group : groups(control))
        if (group.id == id) return group.has_focus ? control.focus() : group.threads.first;
    throw RequestError("there is no thread " + std::to_string(id) + " now");
}

std::string name_of_thread(const Control& control, ThreadRef thread) {
    return "block" + point_text(coordinates_in(control.configuration().grid, thread.block)) + " thread" +
           point_text(coordinates_in(control.configuration().block, thread.thread));
}

std::string name_of_group(const ThreadGroup& group) {
    std::string name =
        "b(" + text_of(group.blocks) + ") t(" + text_of(group.threads) + ") x" + std::to_string(group.count);
    if (group.line == nullptr) return name + " " + state_text(group.state);
    return name + " " + group.file.substr(group.file.find_last_of('/') + 1) + ":" +
           std::to_string(group.line->line);
}

}  // namespace cudasim::debugger
