// Global variables at given addresses: PTX for a recorded launch has numbers where the source has variables
// of device and constant memory. The GPU then gets their contents as one more range of memory, and pointers
// to them, in parameters and in memory, mean the same on the simulator and on the GPU.
#pragma once

#include <cstdint>

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// To be called on the module as the image's bitcode has it. Texts that only vprintf is given stay variables
/// of the module, in `.global`. Constant memory becomes global memory: there is no PTX that puts a
/// constant variable at a given address.
/// @param base where the image's variables begin (simulator/image/globals_placement.h)
void place_globals_at(llvm::Module& module, std::uint64_t base);

}  // namespace cudasim::gpu_backend
