// Written by scripts/write_missing_headers.py.
#error "cusolverMg.h is not part of cudasim (yet): cuSOLVER"
