// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/tuning/tuning_merge.cuh is not part of cudasim (yet): CUB"
