// Written by scripts/write_missing_headers.py.
#error "thrust/shuffle.h is not part of cudasim (yet): Thrust"
