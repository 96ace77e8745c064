// Points in streams.
#include "simulator/driver/event.h"

#include <map>

namespace cudasim::driver {

namespace {

/// Handles of programs are smaller.
std::atomic<std::uint64_t> next_thread_stream{1ULL << 63};

std::uint64_t own_default_stream() {
    thread_local const std::uint64_t handle = next_thread_stream.fetch_add(1);
    return handle;
}

/// Handles look like addresses but are none of this process, because streams of other libraries have those.
constexpr std::uint64_t first_stream = 0xC0DA'0000'0000, first_event = 0xC0DA'E000'0000, handle_step = 0x100;
std::atomic<std::uint64_t> next_stream{first_stream}, next_event{first_event};

/// The streams that there are. Never destroyed, as objects of the host's language may outlive it.
struct StreamTable {
    std::mutex mutex;
    std::map<std::uint64_t, int> devices;  ///< by handle
};
StreamTable& stream_table() {
    static auto* const table = new StreamTable;
    return *table;
}

bool is_default(std::uint64_t handle) {
    return handle == 0 || handle == legacy_stream || handle == per_thread_stream;
}

Error no_stream(const char* call, std::uint64_t handle) {
    return {call, CudaResult::invalid_handle, "there is no stream " + std::to_string(handle)};
}

}  // namespace

std::uint64_t stream_create(int device) {
    const std::uint64_t handle = next_stream.fetch_add(handle_step);
    const std::lock_guard lock(stream_table().mutex);
    stream_table().devices.emplace(handle, device);
    return handle;
}

bool stream_was_created() {
    return next_stream.load(std::memory_order_relaxed) != first_stream;
}

std::optional<int> stream_device(std::uint64_t handle) {
    const std::lock_guard lock(stream_table().mutex);
    const auto found = stream_table().devices.find(handle);
    return found != stream_table().devices.end() ? std::optional(found->second) : std::nullopt;
}

streams::StreamKey require_stream(std::uint64_t handle, int current, const char* call) {
    if (is_default(handle)) return stream_key(current, handle);
    const auto device = stream_device(handle);
    if (!device) throw no_stream(call, handle);
    if (*device != current) throw foreign_stream(call, "stream " + std::to_string(handle), *device, current);
    return stream_key(*device, handle);
}

void stream_forget(std::uint64_t handle) {
    const std::lock_guard lock(stream_table().mutex);
    if (stream_table().devices.erase(handle) == 0) throw no_stream("cuStreamDestroy", handle);
}

Error foreign_stream(const char* call, const std::string& stream, int owner, int current,
                     const std::string& advice) {
    return {call, CudaResult::invalid_handle,
            stream + " belongs to device " + std::to_string(owner) + ", and device " +
                std::to_string(current) + " is current" + advice};
}

streams::StreamKey stream_key(int device, std::uint64_t handle) {
    if (handle == legacy_stream) handle = streams::StreamKey::legacy_default;
    if (handle == per_thread_stream) handle = own_default_stream();
    return {device, handle};
}

Event::Event(int device, bool timing)
    : handle_(next_event.fetch_add(handle_step)), device_(device), timing_(timing) {}

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
