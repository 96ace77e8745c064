// The GPUs of this machine, which NVIDIA's driver knows, and memory of theirs that other libraries of this
// process use (gpu_backend/libcuda).
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/contiguous_buffer.h"
#include "frontend/bindings/released_gil.h"
#include "gpu_backend/libcuda/driver.h"
#include "gpu_backend/libcuda/loaded_driver.h"

namespace cudasim::bindings {

namespace py = pybind11;

namespace {

py::dict real_gpus() {
    const auto inventory = [] {
        const py::gil_scoped_release released;
        return libcuda::take_inventory(libcuda::Search::on_this_machine());
    }();
    py::list gpus;
    for (const auto& gpu : inventory.gpus) {
        using namespace py::literals;
        gpus.append(py::dict("ordinal"_a = gpu.ordinal, "name"_a = gpu.name,
                             "compute_capability"_a =
                                 py::make_tuple(gpu.compute_capability.major, gpu.compute_capability.minor),
                             "memory"_a = gpu.memory, "virtual_memory"_a = gpu.virtual_memory,
                             "new_enough"_a = gpu.is_new_enough()));
    }
    py::dict result;
    result["outcome"] = std::string(libcuda::name_of(inventory.outcome));
    result["message"] = inventory.message;
    result["library"] = inventory.library;
    result["driver"] = inventory.driver == libcuda::Version{} ? "" : libcuda::to_text(inventory.driver);
    result["gpus"] = gpus;
    result["missing_functions"] = inventory.missing_functions;
    result["lines"] = libcuda::lines_of(inventory);
    return result;
}

/// Calls the driver without the GIL. @throws py::error_already_set CudaAPIError, which begins with `what`
template <typename Call>
auto in_driver(const std::string& what, const Call& call) {
    try {
        const ReleasedGil released;
        return call();
    } catch (const libcuda::CallFailed& failure) {
        const auto type = py::module_::import("cudasim.errors").attr("CudaAPIError");
        const py::object error =
            type(static_cast<int>(failure.result), (what.empty() ? "" : what + ": ") + failure.what());
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
        throw py::error_already_set();
    }
}

void read_memory(const libcuda::LoadedDriver& self, const py::object& target, std::uint64_t address,
                 const std::vector<std::uint64_t>& streams, const std::string& what) {
    const ContiguousBuffer buffer(target, true);
    std::vector<libcuda::Stream> handles;
    for (const std::uint64_t stream : streams) handles.push_back(reinterpret_cast<libcuda::Stream>(stream));
    in_driver(what,
              [&] { self.read({static_cast<std::byte*>(buffer.data()), buffer.size()}, address, handles); });
}

void write_memory(const libcuda::LoadedDriver& self, std::uint64_t address, const py::object& source,
                  const std::string& what) {
    const ContiguousBuffer buffer(source, false);
    in_driver(what,
              [&] { self.write(address, {static_cast<const std::byte*>(buffer.data()), buffer.size()}); });
}

}  // namespace

void bind_real_gpus(py::module_& module) {
    using Loaded = libcuda::LoadedDriver;
    py::class_<Loaded>(module, "LoadedDriver",
                       "NVIDIA's driver, where another library has loaded it into this process "
                       "(gpu_backend/libcuda/loaded_driver.h).")
        .def_static("find", &Loaded::find)
        .def_property_readonly("path", &Loaded::path)
        .def(
            "knows",
            [](const Loaded& self, std::uint64_t address, const std::string& what) {
                return in_driver(what, [&] { return self.knows(address); });
            },
            py::arg("address"), py::arg("what") = "", "Whether the address is in memory that it manages.")
        .def("read", &read_memory, py::arg("target"), py::arg("address"), py::arg("streams"),
             py::arg("what") = "",
             "Fills a contiguous buffer from a GPU's memory, when the work of these streams, or without "
             "streams "
             "of the context, is done. Raises CudaAPIError with the driver's code; its message begins with "
             "`what`.")
        .def("write", &write_memory, py::arg("address"), py::arg("source"), py::arg("what") = "",
             "Copies a contiguous buffer to a GPU's memory.");
    module.def(
        "real_gpus", &real_gpus,
        "What NVIDIA's driver says of this machine's GPUs, as cudasim/real_gpu.py describes it. Loads and "
        "initialises the driver in this process, for good.");
}

}  // namespace cudasim::bindings
