// See handles.h.
#include "frontend/cuda_cpp/runtime/handles.h"

#include "frontend/cuda_cpp/runtime/calls.h"
#include "simulator/driver/context.h"
#include "simulator/driver/event.h"
#include "simulator/driver/stream_work.h"

namespace cudasim::cudart {
namespace {

std::uint64_t number_of(cudaStream_t stream) {
    return reinterpret_cast<std::uint64_t>(stream);
}

bool is_default(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

}  // namespace

Handles& Handles::of_this_process() {
    static Handles& handles = *new Handles;
    return handles;
}

cudaStream_t Handles::make_stream(int device, unsigned flags, int priority) {
    const std::uint64_t handle = driver::stream_create(device);
    const auto stream = reinterpret_cast<cudaStream_t>(handle);
    if ((flags & cudaStreamNonBlocking) != 0)
        driver::StreamWork::of_this_process().set_non_blocking(driver::stream_key(device, handle));
    const std::unique_lock lock(mutex_);
    streams_[stream] = {device, flags, priority, next_id_++, {}};
    return stream;
}

void Handles::destroy_stream(cudaStream_t stream, const char* call) {
    {
        const std::unique_lock lock(mutex_);
        if (streams_.erase(stream) == 0)
            fail(call, cudaErrorInvalidResourceHandle, "there is no such stream");
    }
    driver::StreamWork::of_this_process().destroy_stream(number_of(stream));
}

StreamSettings& Handles::settings_of(cudaStream_t stream, int current, const char* call) {
    if (!is_default(stream)) {
        const auto found = streams_.find(stream);
        if (found == streams_.end()) fail(call, cudaErrorInvalidResourceHandle, "there is no such stream");
        return found->second;
    }
    const auto named = stream == nullptr ? cudaStreamLegacy : stream;
    auto& settings = default_streams_[{current, named}];
    settings.device = current;
    settings.id = number_of(named);
    return settings;
}

cudaEvent_t Handles::make_event(int device, bool timing) {
    auto made = std::make_shared<driver::Event>(device, timing);
    const auto handle = made->handle();
    const std::unique_lock lock(mutex_);
    events_.emplace(handle, std::move(made));
    return reinterpret_cast<cudaEvent_t>(handle);
}

std::shared_ptr<driver::Event> Handles::event(cudaEvent_t event, const char* call) {
    const std::shared_lock lock(mutex_);
    const auto found = events_.find(reinterpret_cast<std::uint64_t>(event));
    if (found == events_.end()) fail(call, cudaErrorInvalidResourceHandle, "there is no such event");
    return found->second;
}

void Handles::destroy_event(cudaEvent_t event, const char* call) {
    const std::unique_lock lock(mutex_);
    if (events_.erase(reinterpret_cast<std::uint64_t>(event)) == 0)
        fail(call, cudaErrorInvalidResourceHandle, "there is no such event");
}

void Handles::forget_device(int device) {
    const std::unique_lock lock(mutex_);
    std::erase_if(events_, [&](const auto& each) { return each.second->device() == device; });
    for (auto each = streams_.begin(); each != streams_.end();) {
        if (each->second.device == device) {
            driver::stream_forget(number_of(each->first));
            each = streams_.erase(each);
        } else {
            ++each;
        }
    }
    std::erase_if(default_streams_, [&](const auto& each) { return each.first.first == device; });
}

streams::StreamKey key_of(cudaStream_t stream, const driver::Context& current, const char* call) {
    return driver::require_stream(number_of(stream), current.device(), call);
}

}  // namespace cudasim::cudart
