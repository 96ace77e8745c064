// Streams' handles and events (CUDA Driver API, "Stream Management", "Event Management"), over the order of
// enqueued work that simulator/streams keeps.
//
//   Event start(0, true), end(0, true);
//   start.record(timeline, stream_key(0, stream), false);
//   (work is enqueued in the stream)
//   Event::elapsed_milliseconds(start, end);
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "simulator/driver/error.h"
#include "simulator/streams/timeline.h"

namespace cudasim::driver {

/// Handles that every device has: 0 and CU_STREAM_LEGACY are its legacy default stream, CU_STREAM_PER_THREAD
/// the default stream of the calling thread.
inline constexpr std::uint64_t legacy_stream = 1, per_thread_stream = 2;

/// What the timeline knows a device's stream by, for the calling thread.
[[nodiscard]] streams::StreamKey stream_key(int device, std::uint64_t handle);

/// cuStreamCreate: a stream of the device.
/// @return its handle, which no other stream or event of this process has
[[nodiscard]] std::uint64_t stream_create(int device);
/// Whether there was ever one.
[[nodiscard]] bool stream_was_created();
/// The device on which a stream was created; nullopt for default streams, which every device has, and for
/// handles that stream_create() did not give.
[[nodiscard]] std::optional<int> stream_device(std::uint64_t handle);
/// What the timeline knows a stream by that belongs to the device `current`, or is a default stream of it.
/// @throws Error 400, which names `call`, for a stream of another device, and for
/// a handle that is no stream's
[[nodiscard]] streams::StreamKey require_stream(std::uint64_t handle, int current, const char* call);
/// The handle is no stream's from now on. What was enqueued in the stream still runs. @throws Error 400
void stream_forget(std::uint64_t handle);
/// The error of a call for a stream of another device than the one that is current (CUDA C++ Programming
/// Guide, "Stream and Event Behavior").
/// @param stream what messages call it
/// @param advice what they end in
[[nodiscard]] Error foreign_stream(const char* call, const std::string& stream, int owner, int current,
                                   const std::string& advice = "");

/// A point in a stream: the last at which it was recorded. May be used by several threads.
class Event {
  public:
    /// @param device that was current when it was made
    /// @param timing whether elapsed_milliseconds() can be asked; else it only orders
    Event(int device, bool timing);

    /// CUevent: no other event or stream of this process has it.
    [[nodiscard]] std::uint64_t handle() const { return handle_; }
    [[nodiscard]] int device() const { return device_; }

    /// Puts the point at the end of what is in the stream now.
    /// @param nothing_waits no stream has work that waits: the stream is there at once
    /// @throws Error 400 for a stream of another device than the event's
    void record(streams::Timeline& timeline, streams::StreamKey stream, bool nothing_waits);

    /// What leads to the point; null when the stream has come there, or the event was never recorded.
    [[nodiscard]] streams::OperationPtr pending() const;

    /// From the host's times at which the streams came to the two points.
    /// @throws Error 400 for an event without timing or a recording, or of different devices; 600 when a
    /// stream has not come to its point
    [[nodiscard]] static double elapsed_milliseconds(const Event& start, const Event& end);

  private:
    using Clock = std::chrono::steady_clock;
    /// One recording.
    struct Point {
        streams::OperationPtr operation = nullptr;
        std::atomic<Clock::time_point> reached{Clock::time_point::min()};
    };
    [[nodiscard]] std::shared_ptr<const Point> point() const;

    const std::uint64_t handle_;
    const int device_;
    const bool timing_;
    mutable std::mutex mutex_;
    std::shared_ptr<const Point> point_;
};

}  // namespace cudasim::driver
