// Makes an image's module fit for a GPU: declared checks replaced as simulator/image/checks.def says, and
// everything that only the simulator reads (`!cudasim.*`) removed.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// A read of a variable is the value that was stored (simulator/image/variable_reads.h).
/// @throws PtxError for one that is used in another way
void resolve_variable_reads(llvm::Module& module);
/// @throws PtxError for a check that is used other than the table says
void expand_checks(llvm::Module& module);
void strip_simulator_metadata(llvm::Module& module);

}  // namespace cudasim::gpu_backend
