// Objects of classes that a function takes by value, where copying and destroying them is more than copying
// bytes: the caller makes a temporary object and destroys it, and the function works on that very object
// (Itanium C++ ABI, 3.1.2.3 "Non-Trivial Parameters"). clang 19 passes the bytes of such an object for
// NVPTX, so that the function would work on a copy that nobody made and nobody destroys.
#pragma once

#include <llvm/IR/Module.h>

namespace cudasim::cuda_cpp {

/// Functions of device code get the address of such an object instead of its bytes. Which objects are such
/// is known by the debug information of the functions.
void pass_objects_themselves(llvm::Module& module);

}  // namespace cudasim::cuda_cpp
