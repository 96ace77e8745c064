// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_unique_by_key.cuh is not part of cudasim (yet): CUB"
