// Written by scripts/write_missing_headers.py.
#error "thrust/allocate_unique.h is not part of cudasim (yet): Thrust"
