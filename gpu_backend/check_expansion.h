// Makes an image's module fit for a GPU: declared checks replaced as simulator/image/checks.def says, and
// everything that only the simulator reads (`!cudasim.*`) removed.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// @throws PtxError for a check that is used other than the table says
void expand_checks(llvm::Module& module);
void strip_simulator_metadata(llvm::Module& module);

}  // namespace cudasim::gpu_backend
