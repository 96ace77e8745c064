// Written by scripts/write_missing_headers.py.
#error "cublasXt.h is not part of cudasim (yet): cuBLAS"
