// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/tuning/tuning_radix_sort.cuh is not part of cudasim (yet): CUB"
