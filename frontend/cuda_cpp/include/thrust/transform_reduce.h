// Written by scripts/write_missing_headers.py.
#error "thrust/transform_reduce.h is not part of cudasim (yet): Thrust"
