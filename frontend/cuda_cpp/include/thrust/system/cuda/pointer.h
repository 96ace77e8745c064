// Written by scripts/write_missing_headers.py.
#error "thrust/system/cuda/pointer.h is not part of cudasim (yet): Thrust"
