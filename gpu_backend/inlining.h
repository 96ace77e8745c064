// Calls become copies of the functions' code, so that debug information names for each instruction the chain
// of calls by which the kernel comes to it.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// Inlines all functions of the module but recursive and very large ones, callees first. The simulator
/// inlines by the same rule (simulator/jit/inlining.cpp), and places in the source come out alike.
void inline_functions(llvm::Module& module);

}  // namespace cudasim::gpu_backend
