// The runner's side of messages.h: launches are run one by one until the other side ends, or CUDA wants the
// process ended.
#pragma once

#include "gpu_backend/libcuda/library.h"

namespace cudasim::runner {

/// @param socket, memory file descriptors that whoever started this process has opened
/// @return the exit status: 0, or libcuda::exit_code() where there is no GPU
int serve(int socket, int memory, const libcuda::Search& search);

}  // namespace cudasim::runner
