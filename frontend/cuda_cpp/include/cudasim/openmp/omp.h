// omp.h for clang where it has none of its own (package libomp-19-dev): the host compiler's, whose types
// LLVM's libomp accepts, too ("gomp compatibility"). nvcc defines the macro.
#ifndef CUDASIM_OPENMP_OMP_H
#define CUDASIM_OPENMP_OMP_H

// In GCC's header the attribute has the deallocator as its argument, which clang does not know.
#pragma push_macro("__malloc__")
#define __malloc__(...)
#include CUDASIM_HOST_OMP_H
#pragma pop_macro("__malloc__")

#endif
