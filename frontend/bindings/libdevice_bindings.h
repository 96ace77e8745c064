// NVIDIA's libdevice: where it is, and images that are linked with it.
#pragma once

#include <pybind11/pybind11.h>

namespace cudasim::bindings {

void bind_libdevice(pybind11::module_& module);

/// Tells gpu_backend/toolkit.h the folders of sys.path, which a program may change at any time. Needs the
/// GIL.
void note_package_folders();

}  // namespace cudasim::bindings
