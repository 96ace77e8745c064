// Written by scripts/write_missing_headers.py.
#error "thrust/universal_allocator.h is not part of cudasim (yet): Thrust"
