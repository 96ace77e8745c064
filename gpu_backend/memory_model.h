// Orders and scopes of atomic operations and fences, as far as LLVM's NVPTX back
// end does not write them itself.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// Replaces
///   - fences by membar, whose level is their scope, and orders of accesses by
///     such fences around relaxed ones
///   - atomic updates and compare-and-exchange of another scope than the device's by atom.cta or atom.sys;
///     LLVM leaves scopes out, and PTX's atom without one is the device's. What PTX has no instruction for
///     stays LLVM's, in the device's scope
///   - updates that wrap by atom.inc and atom.dec
/// @param scopes  whether the processor has scopes: sm_60 and up (PTX ISA, "atom")
void lower_memory_model(llvm::Module& module, bool scopes);

}  // namespace cudasim::gpu_backend
