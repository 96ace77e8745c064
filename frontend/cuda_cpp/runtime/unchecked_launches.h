// Launches that failed and whose failure the program never learned of: kernel<<<...>>>(...) has no result,
// and nobody called cudaGetLastError(). They are reported when the program ends.
#pragma once

#include "frontend/cuda_cpp/runtime/host_calls.h"

namespace cudasim::cudart {

/// A launch with <<<>>> was refused, which is reported by itself.
void note_failed_launch(const HostCall& call);
/// The program has asked for the last error of this thread.
void note_errors_asked();
/// Writes a line for each that is left. @return whether there were any
bool report_unchecked_launches();

}  // namespace cudasim::cudart
