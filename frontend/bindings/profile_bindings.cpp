// Device profiles as Python has them: dictionaries, made into profiles by cudasim/device_profiles.py, which
// checks them.
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "simulator/execution/device_profile.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using execution::DeviceProfile;

/// Calls visit(name, member) for everything of a profile but the compute capability.
template <typename Profile, typename Visit>
void for_each_field(Profile& profile, Visit&& visit) {
    visit("key", profile.key);
    visit("name", profile.name);
    visit("total_memory", profile.total_memory);
    visit("multiprocessors", profile.multiprocessors);
    visit("warp_size", profile.warp_size);
    visit("max_threads_per_block", profile.max_threads_per_block);
    visit("max_threads_per_multiprocessor", profile.max_threads_per_multiprocessor);
    visit("max_blocks_per_multiprocessor", profile.max_blocks_per_multiprocessor);
    visit("max_block", profile.max_block);
    visit("max_grid", profile.max_grid);
    visit("shared_per_block", profile.shared_per_block);
    visit("shared_per_block_optin", profile.shared_per_block_optin);
    visit("shared_per_multiprocessor", profile.shared_per_multiprocessor);
    visit("shared_reserved_per_block", profile.shared_reserved_per_block);
    visit("constant_memory", profile.constant_memory);
    visit("l2_cache", profile.l2_cache);
    visit("registers_per_block", profile.registers_per_block);
    visit("registers_per_multiprocessor", profile.registers_per_multiprocessor);
    visit("clock_khz", profile.clock_khz);
    visit("memory_clock_khz", profile.memory_clock_khz);
    visit("memory_bus_bits", profile.memory_bus_bits);
    visit("single_to_double_ratio", profile.single_to_double_ratio);
    visit("integrated", profile.integrated);
}

py::object to_python(const execution::Dim3& dim) {
    return py::make_tuple(dim.x, dim.y, dim.z);
}
template <typename Value>
py::object to_python(const Value& value) {
    return py::cast(value);
}

void from_python(const py::object& value, execution::Dim3& dim) {
    const auto extents = py::cast<std::array<std::uint32_t, 3>>(value);
    dim = {extents[0], extents[1], extents[2]};
}
template <typename Value>
void from_python(const py::object& value, Value& member) {
    member = py::cast<Value>(value);
}

DeviceProfile profile_from_python(const py::dict& values) {
    DeviceProfile profile;
    const auto [major, minor] = py::cast<std::pair<int, int>>(values["compute_capability"]);
    profile.compute_capability_major = major, profile.compute_capability_minor = minor;
    for_each_field(profile, [&](const char* name, auto& member) { from_python(values[name], member); });
    return profile;
}

}  // namespace

py::dict device_profile_to_python(const DeviceProfile& profile) {
    py::dict result;
    for_each_field(profile, [&](const char* name, const auto& member) { result[name] = to_python(member); });
    result["compute_capability"] =
        py::make_tuple(profile.compute_capability_major, profile.compute_capability_minor);
    return result;
}

void bind_profiles(py::module_& module) {
    py::class_<DeviceProfile>(module, "DeviceProfile", "What a simulated device is and forbids.")
        .def(py::init(&profile_from_python), py::arg("values"))
        .def_property_readonly("values", &device_profile_to_python);
    module.def(
        "device_profiles",
        [] {
            py::list result;
            for (const auto& profile : execution::profiles())
                result.append(device_profile_to_python(profile));
            return result;
        },
        "Every device that can be simulated, the default first.");
    module.def(
        "architecture_limits",
        [](int major, int minor) -> py::object {
            const auto limits = execution::profile_of_architecture(major, minor);
            return limits ? py::object(device_profile_to_python(*limits)) : py::object(py::none());
        },
        py::arg("major"), py::arg("minor"),
        "A profile with the limits of a compute capability; None for an unknown one.");
}

}  // namespace cudasim::bindings
