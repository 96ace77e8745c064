// The devices that a program sees, by their ordinals (CUDA Driver API, "Device Management"). A device is
// known by its primary context (context.h), which is made with it.
//
//   Devices::of_this_process().exchange({Context::make(0), Context::make(1)});  // once: cuInit
//   auto device = Devices::of_this_process().get(1, "cuDeviceGet");
//   device_get_attribute(*device, 16);                                          // cuDeviceGetAttribute
//
// All functions may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/driver/context.h"

namespace cudasim::driver {

class Devices {
  public:
    [[nodiscard]] static Devices& of_this_process();

    /// The program sees these devices from now on, in this order. @return those that it saw before
    std::vector<std::shared_ptr<Context>> exchange(std::vector<std::shared_ptr<Context>> devices);
    /// cuDeviceGetCount
    [[nodiscard]] int count() const;
    /// cuDeviceGet. @throws Error 101, which names `call` and the devices that there are
    [[nodiscard]] std::shared_ptr<Context> get(std::int64_t ordinal, const char* call) const;

  private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<Context>> devices_;
};

/// visible_devices() for a program that needs a device: cuInit.
/// @throws Error 100 when the variable hides all of them
[[nodiscard]] std::vector<std::size_t> require_visible_devices(std::optional<std::string_view> value,
                                                               std::span<const std::string> keys);

/// cuDeviceGetAttribute. @param device which has its engine; @param number of CUdevice_attribute
/// @throws Error 1 for a number that the simulated devices do not know
[[nodiscard]] std::int64_t device_get_attribute(const Context& device, std::int64_t number);

}  // namespace cudasim::driver
