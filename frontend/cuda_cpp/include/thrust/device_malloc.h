// Written by scripts/write_missing_headers.py.
#error "thrust/device_malloc.h is not part of cudasim (yet): Thrust"
