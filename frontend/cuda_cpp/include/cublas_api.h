// Written by scripts/write_missing_headers.py.
#error "cublas_api.h is not part of cudasim (yet): cuBLAS"
