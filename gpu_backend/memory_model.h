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
///   - atomic loads and stores of 32 and 64 bits by ld.relaxed and st.relaxed; LLVM makes volatile ones of
///     them, of which a reader of the PTX cannot tell that they are atomic
///   - updates that wrap by atom.inc and atom.dec
/// @param architecture  75 of sm_75: scopes exist from sm_60 on (PTX ISA, "atom"), relaxed accesses from
///     sm_70 on (PTX ISA, "ld"); elsewhere LLVM's instructions stay
void lower_memory_model(llvm::Module& module, unsigned architecture);

}  // namespace cudasim::gpu_backend
