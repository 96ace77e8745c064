// cudasim._native: the engine, as Python sees it. See bindings.h for the parts.
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/ErrorHandling.h>
#include <pybind11/stl.h>

#include <new>

#include "frontend/bindings/bindings.h"

PYBIND11_MODULE(_native, module) {
    module.doc() = "The compiled part of cudasim. Its interface is private to the package.";
    module.attr("version") = CUDASIM_VERSION;
    module.attr("llvm_version") = LLVM_VERSION_STRING;
    // Otherwise LLVM, which is built without exceptions, ends the process.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    cudasim::bindings::bind_findings(module);
    cudasim::bindings::bind_profiles(module);
    cudasim::bindings::bind_engine(module);
    cudasim::bindings::bind_contexts(module);
    cudasim::bindings::bind_memory(module);
    cudasim::bindings::bind_host_memory(module);
    cudasim::bindings::bind_launch(module);
    cudasim::bindings::bind_records(module);
    cudasim::bindings::bind_cache(module);
    cudasim::bindings::bind_frameless_call(module);
    cudasim::bindings::bind_streams(module);
    cudasim::bindings::bind_pykernel(module);
    cudasim::bindings::bind_ptx(module);
}
