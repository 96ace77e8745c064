// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_for_each_in_extents.cuh is not part of cudasim (yet): CUB"
