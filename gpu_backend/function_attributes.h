// What PTX says of a kernel besides its code: limits for its launches, and how much debug information.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "gpu_backend/ptx.h"

namespace cudasim::gpu_backend {

/// Directives .maxntid, .minnctapersm, .maxclusterrank and .maxnreg (PTX ISA, "Performance-Tuning
/// Directives").
void set_launch_bounds(llvm::Function& kernel, const LaunchBounds& bounds);

/// Drops what is more than `kept`.
void keep_debug_info(llvm::Module& module, DebugInfo kept);

/// Drops what describes no function of the module: ptxas refuses `.target debug` without debug information,
/// which LLVM writes for every module with a compile unit.
void drop_unused_debug_info(llvm::Module& module);

}  // namespace cudasim::gpu_backend
