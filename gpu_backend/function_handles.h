// Pointers to functions in PTX for a recorded launch: the simulator's handles
// (simulator/image/function_handles.h), not addresses. Memory of the launch that holds pointers to functions,
// such as vtables and tables of functions, then means the same on the GPU, and its bits can be compared.
#pragma once

namespace llvm {
class Module;
}

namespace cudasim::gpu_backend {

/// To be called on the module as the image's bitcode has it. Pointers to functions in the code become
/// handles. A call through a pointer calls the function of its type that has this handle; without one, it
/// traps. Initialisers of variables are left alone: their contents come with the launch (placed_globals.h).
void use_function_handles(llvm::Module& module);

}  // namespace cudasim::gpu_backend
