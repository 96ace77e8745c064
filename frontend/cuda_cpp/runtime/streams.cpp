// Page "Stream Management" of the CUDA Runtime API.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <initializer_list>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/device_settings.h"
#include "frontend/cuda_cpp/runtime/handles.h"
#include "frontend/cuda_cpp/runtime/host_findings.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/stream_work.h"
#include "simulator/memory/host_guard.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

cudaError_t make_stream(const char* name, cudaStream_t* stream, unsigned flags, int priority) {
    return call(name, [&] {
        require_argument(name, stream, "what the stream is written to");
        if (flags > cudaStreamNonBlocking)
            fail(name, cudaErrorInvalidValue, "unknown flags " + std::to_string(flags));
        const auto current = Process::get().usable(name);
        look_for_stream_races(*current);
        *stream = Handles::of_this_process().make_stream(
            current->device(), flags, std::clamp(priority, greatest_stream_priority, least_stream_priority));
    });
}

/// Calls use(settings, context) for a stream that there is.
template <typename Use>
cudaError_t with_stream(const char* name, cudaStream_t stream, const void* result, Use&& use) {
    return call(name, [&] {
        require_argument(name, result, "what the result is written to");
        const auto current = Process::get().usable(name);
        // What is asked about a stream of another device is answered, too.
        const int device =
            driver::stream_device(reinterpret_cast<std::uint64_t>(stream)).value_or(current->device());
        Handles::of_this_process().with_stream(stream, device, name, use);
    });
}

driver::StreamWork& work() {
    return driver::StreamWork::of_this_process();
}

/// Any stream may be waited for, whichever device is current.
streams::StreamKey key_to_wait_for(cudaStream_t stream, const driver::Context& current, const char* name) {
    const auto number = reinterpret_cast<std::uint64_t>(stream);
    return driver::require_stream(number, driver::stream_device(number).value_or(current.device()), name);
}

bool is_stream_attribute(cudaLaunchAttributeID attribute) {
    return attribute == cudaLaunchAttributeAccessPolicyWindow ||
           attribute == cudaLaunchAttributeSynchronizationPolicy ||
           attribute == cudaLaunchAttributePriority || attribute == cudaLaunchAttributeMemSyncDomainMap ||
           attribute == cudaLaunchAttributeMemSyncDomain;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return make_stream("cudaStreamCreate", stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return make_stream("cudaStreamCreateWithFlags", stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return make_stream("cudaStreamCreateWithPriority", stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    constexpr auto name = "cudaStreamDestroy";
    return call(name, [&] {
        const auto current = Process::get().current();
        Handles::of_this_process().destroy_stream(stream, name);
        current->require_usable(name);
    });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return with_stream("cudaStreamGetFlags", stream, flags, [&](auto& settings) { *flags = settings.flags; });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return with_stream("cudaStreamGetPriority", stream, priority,
                       [&](auto& settings) { *priority = settings.priority; });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return with_stream("cudaStreamGetId", stream, id, [&](auto& settings) { *id = settings.id; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return with_stream("cudaStreamGetDevice", stream, device,
                       [&](auto& settings) { *device = settings.device; });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
    constexpr auto name = "cudaStreamGetAttribute";
    return with_stream(name, stream, value, [&](auto& settings) {
        if (!is_stream_attribute(attribute))
            fail(name, cudaErrorInvalidValue, "streams have no such attribute");
        const auto found = settings.attributes.find(attribute);
        *value = found != settings.attributes.end() ? found->second : cudaLaunchAttributeValue{};
        if (found == settings.attributes.end() && attribute == cudaLaunchAttributeSynchronizationPolicy)
            value->syncPolicy = cudaSyncPolicyAuto;
        if (attribute == cudaLaunchAttributePriority) value->priority = settings.priority;
    });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
    constexpr auto name = "cudaStreamSetAttribute";
    return with_stream(name, stream, value, [&](auto& settings) {
        if (!is_stream_attribute(attribute))
            fail(name, cudaErrorInvalidValue, "streams have no such attribute");
        settings.attributes[attribute] = *value;
        if (attribute == cudaLaunchAttributePriority) settings.priority = value->priority;
    });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t target, cudaStream_t source) {
    constexpr auto name = "cudaStreamCopyAttributes";
    StreamSettings copied;
    const auto read = with_stream(name, source, &copied, [&](auto& settings) { copied = settings; });
    if (read != cudaSuccess) return read;
    return with_stream(name, target, &copied, [&](auto& settings) {
        settings.attributes = copied.attributes;
        settings.priority = copied.priority;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    constexpr auto name = "cudaStreamSynchronize";
    return call(name, [&] {
        const auto current = Process::get().current();
        const auto key = key_to_wait_for(stream, *current, name);
        work().synchronize(key);
        current->require_usable(name);
        memory::host_guard::host_goes_on();
        Process::get().raise_unnoticed(name);
    });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    constexpr auto name = "cudaStreamQuery";
    return call(name, [&] {
        const auto current = Process::get().current();
        const auto key = key_to_wait_for(stream, *current, name);
        const bool complete = work().is_complete(key);
        current->require_usable(name);
        if (!complete) fail(name, cudaErrorNotReady, "the stream has work that is not done");
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    constexpr auto name = "cudaStreamWaitEvent";
    return call(name, [&] {
        const auto current = Process::get().usable(name);
        if (flags > cudaEventWaitExternal) fail(name, cudaErrorInvalidValue, "unknown flags");
        if (flags == cudaEventWaitExternal)
            fail(name, cudaErrorIllegalState, "cudaEventWaitExternal is for streams that are captured");
        const auto awaited = Handles::of_this_process().event(event, name);
        work().wait_for(key_to_wait_for(stream, *current, name), *awaited);
    });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
    constexpr auto name = "cudaStreamAddCallback";
    return call(name, [&] {
        if (callback == nullptr) fail(name, cudaErrorInvalidValue, "the callback is a null pointer");
        if (flags != 0) fail(name, cudaErrorInvalidValue, "flags must be 0");
        const auto current = Process::get().usable(name);
        work().add_callback(key_of(stream, *current, name), [=](int status) {
            const auto failure = static_cast<int>(current->failure());
            callback(stream, static_cast<cudaError_t>(failure != 0 ? failure : status), data);
        });
    });
}

/// After an error the function is not called.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    constexpr auto name = "cudaLaunchHostFunc";
    return call(name, [&] {
        if (function == nullptr) fail(name, cudaErrorInvalidValue, "the function is a null pointer");
        const auto current = Process::get().usable(name);
        work().add_callback(key_of(stream, *current, name), [=](int status) {
            if (status == 0 && current->failure() == driver::CudaResult::success) function(data);
        });
    });
}

// Capture into graphs is not done: no stream is ever capturing.

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return with_stream("cudaStreamIsCapturing", stream, status,
                       [&](auto&) { *status = cudaStreamCaptureStatusNone; });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* count) {
    constexpr auto name = "cudaStreamGetCaptureInfo";
    return with_stream(name, stream, status, [&](auto&) {
        for (const void* const each :
             std::initializer_list<const void*>{id, graph, dependencies, edges, count})
            require_optional(name, each, "what a result is written to");
        *status = cudaStreamCaptureStatusNone;
        if (id != nullptr) *id = 0;
        if (graph != nullptr) *graph = nullptr;
        if (dependencies != nullptr) *dependencies = nullptr;
        if (edges != nullptr) *edges = nullptr;
        if (count != nullptr) *count = 0;
    });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    constexpr auto name = "cudaThreadExchangeStreamCaptureMode";
    thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;
    return call(name, [&] {
        require_argument(name, mode, "the mode");
        if (static_cast<unsigned>(*mode) > cudaStreamCaptureModeRelaxed)
            fail(name, cudaErrorInvalidValue, "there is no mode " + std::to_string(*mode));
        std::swap(*mode, mode_of_thread);
    });
}
}
