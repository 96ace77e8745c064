// Host code that reads or writes device memory: a segmentation fault on a GPU, and here
// (simulator/memory/host_guard.h), with a report before it.
#pragma once

namespace cudasim::cudart {

/// From now on device memory is closed to host code. For processes of C++ programs: in a Python process,
/// which has handlers of its own, it stays open.
void forbid_host_accesses();

}  // namespace cudasim::cudart
