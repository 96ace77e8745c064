// Written by scripts/write_missing_headers.py.
#error "thrust/device_delete.h is not part of cudasim (yet): Thrust"
