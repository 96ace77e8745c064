// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_segmented_sort.cuh is not part of cudasim (yet): CUB"
