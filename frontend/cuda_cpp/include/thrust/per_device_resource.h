// Written by scripts/write_missing_headers.py.
#error "thrust/per_device_resource.h is not part of cudasim (yet): Thrust"
