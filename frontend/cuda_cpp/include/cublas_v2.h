// Written by scripts/write_missing_headers.py.
#error "cublas_v2.h is not part of cudasim (yet): cuBLAS"
