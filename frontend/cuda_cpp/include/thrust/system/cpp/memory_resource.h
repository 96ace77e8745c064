// Written by scripts/write_missing_headers.py.
#error "thrust/system/cpp/memory_resource.h is not part of cudasim (yet): Thrust"
