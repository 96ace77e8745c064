// Device profiles as Python has them: dictionaries, made into profiles by cudasim/device_profiles.py, which
// checks them.
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "simulator/execution/device_profile.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using execution::DeviceProfile;
using execution::for_each_field;

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
