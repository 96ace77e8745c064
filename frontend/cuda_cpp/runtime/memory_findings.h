// What is said of a device's memory when the program is done with it: what the program has never given back
// (check `leaks`), and what nobody has ever written (`cudasim check --track-unused-memory`). Only memory
// counts that the program has asked for, by calls of the runtime API or by malloc() in kernels.
#pragma once

#include "simulator/driver/context.h"

namespace cudasim::cudart {

/// A device was made, and nothing is allocated on it.
void track_memory(const driver::Context& context);

/// cudaDeviceReset() is about to free the device's memory. That of the host stays the program's.
void tell_memory_before_reset(const driver::Context& context);

/// The program has come to its end.
void tell_memory_at_end();

}  // namespace cudasim::cudart
