// Values that PTX defines and LLVM IR leaves open.
#pragma once

#include <llvm/IR/Module.h>

namespace cudasim::gpu_backend {

/// Gives shifts by the width and more, signed divisions that overflow and conversions of reals that do not
/// fit the values that the simulator gives them (V2), so that LLVM's optimisation cannot take the code around
/// them for unreachable. Conversions are instructions that LLVM does not look into: it also takes libdevice's
/// roundings of integers towards zero for roundings to nearest. Expects libdevice to be linked.
void define_values(llvm::Module& module);

}  // namespace cudasim::gpu_backend
