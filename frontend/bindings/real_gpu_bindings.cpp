// The GPUs of this machine, which NVIDIA's driver knows (gpu_backend/libcuda).
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "gpu_backend/libcuda/driver.h"

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

}  // namespace

void bind_real_gpus(py::module_& module) {
    module.def(
        "real_gpus", &real_gpus,
        "What NVIDIA's driver says of this machine's GPUs, as cudasim/real_gpu.py describes it. Loads and "
        "initialises the driver in this process, for good.");
}

}  // namespace cudasim::bindings
