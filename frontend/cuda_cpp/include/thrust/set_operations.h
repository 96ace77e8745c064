// Written by scripts/write_missing_headers.py.
#error "thrust/set_operations.h is not part of cudasim (yet): Thrust"
