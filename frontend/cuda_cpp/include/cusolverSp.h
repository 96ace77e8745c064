// Written by scripts/write_missing_headers.py.
#error "cusolverSp.h is not part of cudasim (yet): cuSOLVER"
