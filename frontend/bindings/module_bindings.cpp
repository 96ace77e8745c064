// The driver's modules and functions.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/driver/launch.h"
#include "simulator/driver/module.h"
#include "simulator/driver/occupancy.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using driver::Function;
using driver::Module;

/// What launches take. @throws driver::Error 400 after unload()
LoadedImage loaded_image(const Module& module) {
    const auto on_device = module.on_device();
    return {module.context()->engine(), dynamic_cast<driver::SimulatedModule&>(*on_device).loaded};
}

/// @param values the bytes of each parameter
/// @param given what they were made of, for messages
py::bytes pack(const Function& function, const std::vector<py::bytes>& values, const py::sequence& given) {
    std::vector<std::span<const std::byte>> bytes;
    for (const py::bytes& value : values) {
        const std::string_view content = value;
        bytes.push_back(std::as_bytes(std::span(content)));
    }
    try {
        const auto buffer = function.pack(bytes);
        return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
    } catch (const driver::ParameterMismatch& wrong) {
        throw py::type_error(wrong.parameter + ", " + py::cast<std::string>(py::repr(given[wrong.index])) +
                             " has " + std::to_string(bytes[wrong.index].size()));
    } catch (const std::invalid_argument& wrong) {
        throw py::type_error(wrong.what());
    }
}

}  // namespace

void bind_modules(py::module_& module) {
    py::class_<Module, std::shared_ptr<Module>>(module, "Module", "An image that is loaded into a context.")
        .def_static("load",
                    [](const std::shared_ptr<driver::Context>& context, const image::KernelImage& image) {
                        const ReleasedGil release;
                        return Module::load(context, image);
                    })
        .def_static("with_handle",
                    [](std::uint64_t handle, const std::string& call) {
                        return Module::with_handle(handle, call.c_str());
                    })
        .def_property_readonly("handle", &Module::handle)
        .def_property_readonly("is_loaded", &Module::is_loaded)
        .def_property_readonly("loaded", &loaded_image, "What a LaunchPlan takes.")
        .def("function", &Module::function)
        .def("global_range",
             [](const Module& self, const std::string& name) {
                 const auto range = self.global(name);
                 return py::make_tuple(range.base, range.bytes);
             })
        .def("unload", [](Module& self) {
            const ReleasedGil release;  // the device's memory
            return self.unload();
        });
    module.def(
        "require_extents",
        [](const py::sequence& extents, const std::string& name) {
            driver::GivenExtents given{};
            for (std::size_t axis = 0; axis < given.size(); ++axis) {
                int overflow = 0;
                given[axis] = PyLong_AsLongLongAndOverflow(py::object(extents[axis]).ptr(), &overflow);
                if (overflow != 0) given[axis] = overflow > 0 ? INT64_MAX : INT64_MIN;
                if (given[axis] == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
            }
            driver::require_extents(given, name);
        },
        "Refuses extents that no launch may have.");
    module.def("require_launch_bounds", &driver::require_launch_bounds, py::arg("threads"), py::arg("most"),
               py::arg("kernel"), py::arg("bounds"));
    module.def("require_stream_of", &driver::require_stream_of, py::arg("current"), py::arg("owner"),
               py::arg("stream"), py::arg("advice"));
    module.def("active_blocks", [](const SimulatedDevice& device, std::uint64_t most_threads,
                                   std::int64_t threads, std::uint64_t shared_bytes) {
        return threads < 0 ? 0
                           : driver::active_blocks(device.device.profile(), most_threads,
                                                   static_cast<std::uint64_t>(threads), shared_bytes);
    });
    module.def(
        "max_potential_block_size", [](const SimulatedDevice& device, unsigned most_threads, unsigned limit,
                                       const std::function<std::uint64_t(unsigned)>& shared_bytes) {
            const auto [blocks, threads] =
                driver::max_potential_block_size(device.device.profile(), most_threads, limit, shared_bytes);
            return py::make_tuple(blocks, threads);
        });
    py::class_<Function>(module, "Function", "A kernel of a module.")
        .def_static("with_handle",
                    [](std::uint64_t handle, const std::string& call) {
                        return Function::with_handle(handle, call.c_str());
                    })
        .def_property_readonly("handle", &Function::handle)
        .def_property_readonly("name", &Function::name)
        .def_property_readonly("module", &Function::module)
        .def(
            "require_cooperative",
            [](const Function& self, const execution::LaunchConfiguration& configuration) {
                const ReleasedGil release;  // compiles the kernel
                driver::require_cooperative(self, configuration);
            },
            "Refuses a cooperative launch whose blocks do not fit on the device at once.")
        .def_property_readonly("max_threads_per_block", &Function::max_threads_per_block)
        .def_property_readonly("parameter_sizes",
                               [](const Function& self) {
                                   std::vector<std::uint32_t> sizes;
                                   for (const auto& each : self.parameters()) sizes.push_back(each.size);
                                   return sizes;
                               })
        .def("pack", &pack, py::arg("values"), py::arg("given"),
             "The parameters' buffer, made of the bytes of each; `given` is what messages show.");
}

}  // namespace cudasim::bindings
