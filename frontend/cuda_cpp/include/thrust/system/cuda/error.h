// Written by scripts/write_missing_headers.py.
#error "thrust/system/cuda/error.h is not part of cudasim (yet): Thrust"
