#include "tests/gpu_backend/libcuda/stand_in/events.h"

namespace cudasim::stand_in {

Events& Events::of_this_process() {
    static auto* const instance = new Events;  // calls may come while the process ends
    return *instance;
}

Event Events::create(Gpu& gpu, bool has_time) {
    std::shared_ptr<libcuda::EventState> event(new libcuda::EventState{.gpu = gpu, .has_time = has_time});
    const std::lock_guard lock(mutex_);
    return events_.emplace(event.get(), event).first->first;
}

bool Events::destroy(Event event) {
    const std::lock_guard lock(mutex_);
    return events_.erase(event) != 0;
}

void Events::destroy_all(const Gpu& gpu) {
    const std::lock_guard lock(mutex_);
    std::erase_if(events_, [&](const auto& each) { return &each.second->gpu == &gpu; });
}

std::shared_ptr<libcuda::EventState> Events::find(Event event) const {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(event);
    return found != events_.end() ? found->second : nullptr;
}

Result Behaviour::cuEventCreate(Event* event, unsigned flags) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    constexpr auto blocking = static_cast<unsigned>(EventFlags::blocking_sync),
                   no_time = static_cast<unsigned>(EventFlags::disable_timing);
    if (event == nullptr || (flags & ~(blocking | no_time)) != 0) return Result::invalid_value;
    *event = Events::of_this_process().create(*gpu, (flags & no_time) == 0);
    return Result::success;
}

Result Behaviour::cuEventDestroy(Event event) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    return Events::of_this_process().destroy(event) ? Result::success : Result::invalid_handle;
}

Result Behaviour::cuEventRecord(Event event, Stream stream) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    const auto found = Events::of_this_process().find(event);
    if (!found || &found->gpu != gpu || stream != nullptr) return Result::invalid_handle;
    found->ticket = gpu->work.add([found] { found->when = libcuda::EventState::Clock::now(); });
    return Result::success;
}

Result Behaviour::cuEventQuery(Event event) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    const auto found = Events::of_this_process().find(event);
    if (!found) return Result::invalid_handle;
    return found->gpu.work.is_done(found->ticket) ? found->gpu.fault() : Result::not_ready;
}

Result Behaviour::cuEventSynchronize(Event event) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    const auto found = Events::of_this_process().find(event);
    if (!found) return Result::invalid_handle;
    found->gpu.work.wait_for(found->ticket);
    found->gpu.printed.flush();
    return found->gpu.fault();
}

Result Behaviour::cuEventElapsedTime(float* milliseconds, Event start, Event end) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    const auto first = Events::of_this_process().find(start), last = Events::of_this_process().find(end);
    if (milliseconds == nullptr) return Result::invalid_value;
    for (const auto& each : {first, last})
        if (!each || !each->has_time || each->ticket == 0) return Result::invalid_handle;
    for (const auto& each : {first, last})
        if (!each->gpu.work.is_done(each->ticket)) return Result::not_ready;
    *milliseconds = std::chrono::duration<float, std::milli>(last->when.load() - first->when.load()).count();
    return Result::success;
}

}  // namespace cudasim::stand_in
