// Written by scripts/write_missing_headers.py.
#error "thrust/binary_search.h is not part of cudasim (yet): Thrust"
