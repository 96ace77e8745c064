// Written by scripts/write_missing_headers.py.
#error "cublasLt.h is not part of cudasim (yet): cuBLAS"
