// The streams and events that a program has made.
#pragma once

#include <driver_types.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "simulator/driver/context.h"
#include "simulator/driver/event.h"

namespace cudasim::cudart {

/// What the program said when it made a stream, and has set since.
struct StreamSettings {
    int device = 0;
    unsigned flags = cudaStreamDefault;
    int priority = 0;
    unsigned long long id = 0;
    std::map<int, cudaLaunchAttributeValue> attributes;
};

class Handles {
  public:
    [[nodiscard]] static Handles& of_this_process();

    [[nodiscard]] cudaStream_t make_stream(int device, unsigned flags, int priority);
    /// @throws driver::Error 400
    void destroy_stream(cudaStream_t stream, const char* call);
    /// Calls use(settings). Default streams have them, too. @throws driver::Error 400
    template <typename Use>
    void with_stream(cudaStream_t stream, int current, const char* call, Use&& use) {
        (void)driver::require_stream(reinterpret_cast<std::uint64_t>(stream), current, call);
        const std::unique_lock lock(mutex_);
        use(settings_of(stream, current, call));
    }

    [[nodiscard]] cudaEvent_t make_event(int device, bool timing);
    /// @throws driver::Error 400 for what is no event
    [[nodiscard]] std::shared_ptr<driver::Event> event(cudaEvent_t event, const char* call);
    void destroy_event(cudaEvent_t event, const char* call);

    /// Streams and events of a device that is reset are none any more.
    void forget_device(int device);

  private:
    [[nodiscard]] StreamSettings& settings_of(cudaStream_t stream, int current, const char* call);

    std::shared_mutex mutex_;  ///< guards what follows
    std::map<cudaStream_t, StreamSettings> streams_;
    std::map<std::pair<int, cudaStream_t>, StreamSettings> default_streams_;  ///< by device
    std::map<std::uint64_t, std::shared_ptr<driver::Event>> events_;
    unsigned long long next_id_ = 8;
};

/// The key of a stream for the current device. @throws driver::Error 400
[[nodiscard]] streams::StreamKey key_of(cudaStream_t stream, const driver::Context& current,
                                        const char* call);

}  // namespace cudasim::cudart
