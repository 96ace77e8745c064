// omp.h for clang where it has none of its own (libomp-19-dev): the host compiler's, whose types LLVM's
// libomp accepts ("gomp compatibility"). nvcc defines the macro.
#include CUDASIM_HOST_OMP_H
