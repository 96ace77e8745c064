// Points in streams.
#include "simulator/driver/event.h"

namespace cudasim::driver {

namespace {

/// Handles of programs are smaller.
std::atomic<std::uint64_t> next_thread_stream{1ULL << 63};

std::uint64_t own_default_stream() {
    thread_local const std::uint64_t handle = next_thread_stream.fetch_add(1);
    return handle;
}

}  // namespace

streams::StreamKey stream_key(int device, std::uint64_t handle) {
    if (handle == legacy_stream) handle = streams::StreamKey::legacy_default;
    if (handle == per_thread_stream) handle = own_default_stream();
    return {device, handle};
}

void Event::record(streams::Timeline& timeline, streams::StreamKey stream, bool nothing_waits) {
    if (stream.device != device_)
        throw Error("cuEventRecord", CudaResult::invalid_handle,
                    "the event belongs to device " + std::to_string(device_) + ", the stream to device " +
                        std::to_string(stream.device) +
                        "; make the event while the stream's device is current");
    const auto recorded = std::make_shared<Point>();
    if (nothing_waits)
        recorded->reached.store(Clock::now());
    else
        recorded->operation = timeline.enqueue(stream, {.task = [weak = std::weak_ptr(recorded)](int) {
                                                   if (const auto reached = weak.lock())
                                                       reached->reached.store(Clock::now());
                                                   return streams::Outcome{};
                                               }});
    const std::lock_guard lock(mutex_);
    point_ = recorded;
}

std::shared_ptr<const Event::Point> Event::point() const {
    const std::lock_guard lock(mutex_);
    return point_;
}

streams::OperationPtr Event::pending() const {
    const auto recorded = point();
    if (!recorded || !recorded->operation || recorded->operation->done()) return nullptr;
    return recorded->operation;
}

double Event::elapsed_milliseconds(const Event& start, const Event& end) {
    const auto refuse = [](CudaResult result, const std::string& reason) {
        throw Error("cuEventElapsedTime", result, reason);
    };
    const auto checked = [&](const Event& event, const std::string& which) {
        auto recorded = event.point();
        if (!event.timing_)
            refuse(CudaResult::invalid_handle, "the " + which + " event was made with timing=False");
        if (!recorded) refuse(CudaResult::invalid_handle, "the " + which + " event has not been recorded");
        if (event.device_ != start.device_)
            refuse(CudaResult::invalid_handle, "the events belong to different devices");
        return recorded;
    };
    const auto reached = [&](const Point& recorded, const std::string& which) {
        const auto time = recorded.reached.load();
        if (time == Clock::time_point::min())
            refuse(CudaResult::not_ready,
                   "the work before the " + which + " event is not complete; call its synchronize() first");
        return time;
    };
    const auto first = checked(start, "first"), second = checked(end, "second");
    const auto began = reached(*first, "first"), ended = reached(*second, "second");
    return std::chrono::duration<double, std::milli>(ended - began).count();
}

}  // namespace cudasim::driver
