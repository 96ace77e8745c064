// Local variables that are initialised with addresses of __shared__ variables: float *buffers[2] = {a, b}.
// clang copies such a variable from a constant, and no constant can hold what differs from block to block.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::cuda_cpp {

/// The constants hold null there, and code that copies one stores the addresses behind the copy.
void store_shared_addresses(llvm::Module& module);

}  // namespace cudasim::cuda_cpp
