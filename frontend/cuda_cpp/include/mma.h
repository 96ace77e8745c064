// Written by scripts/write_missing_headers.py.
#error "mma.h is not part of cudasim (yet): warp matrix functions"
