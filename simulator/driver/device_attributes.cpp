// The table of device attributes.
#include "simulator/driver/device_attributes.h"

#include <algorithm>

namespace cudasim::driver {

namespace {

constexpr DeviceAttribute table[] = {
#define ATTRIBUTE(name, number, expression)                                  \
    {#name, number, []([[maybe_unused]] const execution::DeviceProfile& p) { \
         return static_cast<std::int64_t>(expression);                       \
     }},
#include "simulator/driver/device_attributes.def"
#undef ATTRIBUTE
};

}  // namespace

std::span<const DeviceAttribute> device_attributes() {
    return table;
}

std::optional<std::int64_t> device_attribute(const execution::DeviceProfile& profile, int number) {
    const auto* row = std::ranges::find(table, number, &DeviceAttribute::number);
    if (row == std::end(table)) return std::nullopt;
    return row->value(profile);
}

}  // namespace cudasim::driver
