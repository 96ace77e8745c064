// Written by scripts/write_missing_headers.py.
#error "cuda_fp4.h is not part of cudasim (yet): 4-bit floating-point numbers"
