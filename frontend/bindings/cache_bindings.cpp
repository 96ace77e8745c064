// The object cache as cudasim/cache.py uses it.
#include "frontend/bindings/bindings.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/driver/kept_kernels.h"
#include "simulator/jit/object_cache.h"
#include "simulator/jit/object_code.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

/// (unsafe, what), or None.
py::object to_python(const std::optional<jit::FolderProblem>& problem) {
    if (!problem) return py::none();
    return py::make_tuple(problem->unsafe, problem->what);
}

py::dict to_python(const jit::FolderUsage& usage) {
    py::dict result;
    result["entries"] = usage.entries;
    result["bytes"] = usage.bytes;
    result["hits"] = usage.hits;
    result["misses"] = usage.misses;
    return result;
}

py::object use_cache(const std::string& folder, std::uint64_t limit_bytes) {
    std::optional<jit::FolderProblem> problem;
    {
        const ReleasedGil release;
        const auto lock = jit::lock_compiler();
        problem = jit::ObjectCache::instance().use(folder, limit_bytes);
    }
    return to_python(problem);
}

void switch_cache_off() {
    const ReleasedGil release;
    const auto lock = jit::lock_compiler();
    jit::ObjectCache::instance().switch_off();
}

}  // namespace

void bind_cache(py::module_& module) {
    module.def(
        "cache_folder",
        [](const std::string& chosen) { return py::bytes(driver::kept_kernels_folder(chosen).string()); },
        py::arg("chosen"));
    module.def("use_cache", &use_cache, py::arg("folder"), py::arg("limit_bytes"),
               "Compiled kernels are kept there from now on; (unsafe, why not) when they are not.");
    module.def("switch_cache_off", &switch_cache_off);
    module.def("cache_problem",
               [](const std::string& folder) { return to_python(jit::CacheFolder(folder, 0).problem()); });
    module.def("cache_usage",
               [](const std::string& folder) { return to_python(jit::CacheFolder(folder, 0).usage()); });
    module.def("clear_cache",
               [](const std::string& folder) { return to_python(jit::CacheFolder(folder, 0).clear()); });
}

}  // namespace cudasim::bindings
