// Written by scripts/write_missing_headers.py.
#error "thrust/logical.h is not part of cudasim (yet): Thrust"
