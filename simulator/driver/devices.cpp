// See devices.h.
#include "simulator/driver/devices.h"

#include <llvm/ADT/StringExtras.h>

#include <limits>
#include <utility>

#include "simulator/driver/device_attributes.h"
#include "simulator/driver/visible_devices.h"

namespace cudasim::driver {

Devices& Devices::of_this_process() {
    static auto* const devices = new Devices;  // contexts in static objects may outlive it
    return *devices;
}

std::vector<std::shared_ptr<Context>> Devices::exchange(std::vector<std::shared_ptr<Context>> devices) {
    const std::lock_guard lock(mutex_);
    return std::exchange(devices_, std::move(devices));
}

int Devices::count() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(devices_.size());
}

std::shared_ptr<Context> Devices::get(std::int64_t ordinal, const char* call) const {
    const std::lock_guard lock(mutex_);
    if (ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices_.size())
        return devices_[static_cast<std::size_t>(ordinal)];
    std::vector<std::string> known;
    for (const auto& device : devices_) known.push_back(std::to_string(device->device()));
    throw Error(call, CudaResult::invalid_device,
                "there is no device " + std::to_string(ordinal) +
                    "; the simulated devices that the program sees are " +
                    (known.empty() ? "none" : llvm::join(known, ", ")));
}

std::vector<std::size_t> require_visible_devices(std::optional<std::string_view> value,
                                                 std::span<const std::string> keys) {
    auto chosen = visible_devices(value, keys);
    if (!chosen.empty()) return chosen;
    throw Error("cuInit", CudaResult::no_device,
                "CUDA_VISIBLE_DEVICES='" + std::string(value.value_or("")) + "' shows none of the " +
                    std::to_string(keys.size()) + " simulated devices (" + llvm::join(keys, ", ") +
                    "). Unset it, or simulate more devices: CUDASIM_DEVICE=h100,h100");
}

std::int64_t device_get_attribute(const Context& device, std::int64_t number) {
    if (number >= 0 && number <= std::numeric_limits<int>::max())
        if (const auto value = device_attribute(device.engine()->device.profile(), static_cast<int>(number)))
            return *value;
    throw Error("cuDeviceGetAttribute", CudaResult::invalid_value,
                "the simulated devices have no attribute " + std::to_string(number));
}

}  // namespace cudasim::driver
