// Written by scripts/write_missing_headers.py.
#error "thrust/mr/host_memory_resource.h is not part of cudasim (yet): Thrust"
