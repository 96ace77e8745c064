// Written by scripts/write_missing_headers.py.
#error "cusolverDn.h is not part of cudasim (yet): cuSOLVER"
