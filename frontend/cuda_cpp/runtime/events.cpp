// Page "Event Management" of the CUDA Runtime API.
#include <cuda_runtime_api.h>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/handles.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/stream_work.h"
#include "simulator/memory/host_guard.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

constexpr unsigned known_flags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

cudaError_t make_event(const char* name, cudaEvent_t* event, unsigned flags) {
    return call(name, [&] {
        require_argument(name, event, "what the event is written to");
        if ((flags & ~known_flags) != 0)
            fail(name, cudaErrorInvalidValue, "unknown flags " + std::to_string(flags));
        if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0)
            fail(name, cudaErrorInvalidValue, "an event for several processes needs cudaEventDisableTiming");
        const auto current = Process::get().usable(name);
        *event =
            Handles::of_this_process().make_event(current->device(), (flags & cudaEventDisableTiming) == 0);
    });
}

cudaError_t record(const char* name, cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return call(name, [&] {
        const auto current = Process::get().usable(name);
        if (flags > cudaEventRecordExternal) fail(name, cudaErrorInvalidValue, "unknown flags");
        if (flags == cudaEventRecordExternal)
            fail(name, cudaErrorIllegalState, "cudaEventRecordExternal is for streams that are captured");
        const auto recorded = Handles::of_this_process().event(event, name);
        driver::StreamWork::of_this_process().record(*recorded, key_of(stream, *current, name));
    });
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return make_event("cudaEventCreate", event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return make_event("cudaEventCreateWithFlags", event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    constexpr auto name = "cudaEventDestroy";
    return call(name, [&] {
        const auto current = Process::get().current();
        Handles::of_this_process().destroy_event(event, name);
        current->require_usable(name);
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return record("cudaEventRecord", event, stream, cudaEventRecordDefault);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return record("cudaEventRecordWithFlags", event, stream, flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    constexpr auto name = "cudaEventQuery";
    return call(name, [&] {
        const auto current = Process::get().current();
        const bool complete =
            driver::StreamWork::of_this_process().is_complete(*Handles::of_this_process().event(event, name));
        current->require_usable(name);
        if (!complete) fail(name, cudaErrorNotReady, "the work before the event is not done");
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    constexpr auto name = "cudaEventSynchronize";
    return call(name, [&] {
        const auto current = Process::get().current();
        driver::StreamWork::of_this_process().synchronize(*Handles::of_this_process().event(event, name));
        current->require_usable(name);
        memory::host_guard::host_goes_on();
        Process::get().raise_unnoticed(name);
    });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    constexpr auto name = "cudaEventElapsedTime";
    return call(name, [&] {
        require_argument(name, milliseconds, "what the time is written to");
        auto& handles = Handles::of_this_process();
        const auto first = handles.event(start, name), last = handles.event(end, name);
        Process::get().current()->require_usable(name);
        *milliseconds = static_cast<float>(driver::Event::elapsed_milliseconds(*first, *last));
    });
}
}
