// cudasim._native: the engine, as Python sees it. See bindings.h for the parts.
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/libdevice_bindings.h"
#include "library/library.h"

PYBIND11_MODULE(_native, module) {
    module.doc() = "The compiled part of cudasim. Its interface is private to the package.";
    module.attr("version") = cudasim::library::version();
    module.attr("llvm_version") = cudasim::library::llvm_version();
    module.attr("engine_build_id") = cudasim::library::build_id();
    cudasim::bindings::bind_findings(module);
    cudasim::bindings::bind_profiles(module);
    cudasim::bindings::bind_engine(module);
    cudasim::bindings::bind_contexts(module);
    cudasim::bindings::bind_memory(module);
    cudasim::bindings::bind_modules(module);
    cudasim::bindings::bind_host_memory(module);
    cudasim::bindings::bind_options(module);
    cudasim::bindings::bind_launch(module);
    cudasim::bindings::bind_records(module);
    cudasim::bindings::bind_traces(module);
    cudasim::bindings::bind_stops(module);
    cudasim::bindings::bind_accesses(module);
    cudasim::bindings::bind_debugger(module);
    cudasim::bindings::bind_expression_kernel(module);
    cudasim::bindings::bind_cache(module);
    cudasim::bindings::bind_frameless_call(module);
    cudasim::bindings::bind_streams(module);
    cudasim::bindings::bind_host_language(module);
    cudasim::bindings::bind_pykernel(module);
    cudasim::bindings::bind_ptx(module);
    cudasim::bindings::bind_libdevice(module);
    cudasim::bindings::bind_real_gpus(module);
    cudasim::bindings::bind_gpu_launches(module);
    cudasim::bindings::bind_comparison(module);
}
