// Written by scripts/write_missing_headers.py.
#error "cublas.h is not part of cudasim (yet): cuBLAS"
