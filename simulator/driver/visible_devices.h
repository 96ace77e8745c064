// Which of the simulated devices a program sees: CUDA_VISIBLE_DEVICES (CUDA C++ Programming Guide,
// "CUDA Environment Variables").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::driver {

/// "GPU-" and a UUID that depends on the device's kind and its place among the simulated ones only.
/// @param key the kind's name in the option `device`: "h100"
[[nodiscard]] std::string device_uuid(std::string_view key, std::size_t position);

/// The places of the devices that the program sees, in the order in which it numbers them. As with the
/// driver names are numbers or the beginnings of UUIDs, and the list ends before the first that names no
/// device, or one a second time.
/// @param value of CUDA_VISIBLE_DEVICES; nullopt where it is not set: all
/// @param keys of all simulated devices, by place
[[nodiscard]] std::vector<std::size_t> visible_devices(std::optional<std::string_view> value,
                                                       std::span<const std::string> keys);

}  // namespace cudasim::driver
