// The names of LLVM's OpenMP library that clang's code for OpenMP calls, for linkers. libcudart.so, a linker
// script (write_toolkit.cmake), names this library AS_NEEDED, and its own name (DT_SONAME) is that of LLVM's:
// a program whose objects need OpenMP loads libomp.so.5, even if `g++ -fopenmp` links it, which knows of
// libgomp only. libomp has the functions of libgomp, too, and comes before it, so that there is one OpenMP
// library in the program.
__asm__(".text\n");
#define OMP_RTL(identifier, name, ...) __asm__(".globl " name "\n.type " name ", @function\n" name ":\n");
#include <llvm/Frontend/OpenMP/OMPKinds.def>
__asm__("ud2\n");
