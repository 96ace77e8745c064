// Written by scripts/write_missing_headers.py.
#error "nvblas.h is not part of cudasim (yet): NVBLAS"
