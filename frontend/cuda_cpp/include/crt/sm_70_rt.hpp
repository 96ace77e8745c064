// __match_any_sync() and its kin, for clang's __clang_cuda_intrinsics.h, are clang's own: nothing is needed
// here. The file keeps an installed toolkit's from being found.
