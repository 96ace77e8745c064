// Written by scripts/write_missing_headers.py.
#error "cusolver_common.h is not part of cudasim (yet): cuSOLVER"
