// cuDeviceGetAttribute: what a device says of itself, by the driver's numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "simulator/execution/device_profile.h"

namespace cudasim::driver {

struct DeviceAttribute {
    std::string_view name;  ///< without CU_DEVICE_ATTRIBUTE_
    int number;             ///< CUdevice_attribute
    std::int64_t (*value)(const execution::DeviceProfile& profile);
};

/// All rows of device_attributes.def.
[[nodiscard]] std::span<const DeviceAttribute> device_attributes();

/// nullopt for a number that the table does not have.
[[nodiscard]] std::optional<std::int64_t> device_attribute(const execution::DeviceProfile& profile,
                                                           int number);

}  // namespace cudasim::driver
