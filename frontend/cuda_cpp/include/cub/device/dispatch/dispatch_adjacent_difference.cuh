// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_adjacent_difference.cuh is not part of cudasim (yet): CUB"
