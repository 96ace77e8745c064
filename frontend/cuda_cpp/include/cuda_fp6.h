// Written by scripts/write_missing_headers.py.
#error "cuda_fp6.h is not part of cudasim (yet): 6-bit floating-point numbers"
