// Written by scripts/write_missing_headers.py.
#error "curand_mtgp32_kernel.h is not part of cudasim (yet): cuRAND"
