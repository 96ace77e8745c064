// alloca() in device code. A simulated thread's frames have sizes that are known before it runs, so each
// function that calls it gets one place of a fixed size for all calls.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::cuda_cpp {

/// For one call of a function. By default all frames of a GPU's thread have 1 KiB together
/// (cudaLimitStackSize).
inline constexpr unsigned most_variable_bytes = 8192;

/// Makes such memory part of a local array of this size. What does not fit fails as an assertion does.
void fix_variable_arrays(llvm::Module& module);

}  // namespace cudasim::cuda_cpp
