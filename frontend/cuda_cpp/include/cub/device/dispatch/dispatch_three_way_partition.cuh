// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_three_way_partition.cuh is not part of cudasim (yet): CUB"
