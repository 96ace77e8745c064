// Floats to integers of 8 and 16 bits. NVIDIA's compiler converts to 32 bits, which saturates, and cuts:
// 40000.0f is the short -25536, on a GPU. LLVM's back end would convert to 16 bits: 32767.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::cuda_cpp {

/// Makes two instructions of each such conversion, as NVIDIA's compiler does.
void widen_narrow_conversions(llvm::Module& module);

}  // namespace cudasim::cuda_cpp
