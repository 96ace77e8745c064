// Written by scripts/write_missing_headers.py.
#error "thrust/device_new_allocator.h is not part of cudasim (yet): Thrust"
