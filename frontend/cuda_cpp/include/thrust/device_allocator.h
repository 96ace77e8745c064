// Written by scripts/write_missing_headers.py.
#error "thrust/device_allocator.h is not part of cudasim (yet): Thrust"
