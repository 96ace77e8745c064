// Written by scripts/write_missing_headers.py.
#error "thrust/reduce.h is not part of cudasim (yet): Thrust"
