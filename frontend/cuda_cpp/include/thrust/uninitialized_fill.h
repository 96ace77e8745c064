// Written by scripts/write_missing_headers.py.
#error "thrust/uninitialized_fill.h is not part of cudasim (yet): Thrust"
