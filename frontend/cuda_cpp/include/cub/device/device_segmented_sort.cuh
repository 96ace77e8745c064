// Written by scripts/write_missing_headers.py.
#error "cub/device/device_segmented_sort.cuh is not part of cudasim (yet): CUB"
