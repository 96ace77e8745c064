// Written by scripts/write_missing_headers.py.
#error "thrust/mr/allocator.h is not part of cudasim (yet): Thrust"
