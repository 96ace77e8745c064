// Written by scripts/write_missing_headers.py.
#error "cusolverRf.h is not part of cudasim (yet): cuSOLVER"
