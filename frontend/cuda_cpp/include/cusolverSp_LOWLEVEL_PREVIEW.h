// Written by scripts/write_missing_headers.py.
#error "cusolverSp_LOWLEVEL_PREVIEW.h is not part of cudasim (yet): cuSOLVER"
