// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/kernels/unique_by_key.cuh is not part of cudasim (yet): CUB"
