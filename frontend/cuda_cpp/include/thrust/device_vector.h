// Written by scripts/write_missing_headers.py.
#error "thrust/device_vector.h is not part of cudasim (yet): Thrust"
