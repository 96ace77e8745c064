// Written by scripts/write_missing_headers.py.
#error "thrust/for_each.h is not part of cudasim (yet): Thrust"
