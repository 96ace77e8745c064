// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/kernels/for_each.cuh is not part of cudasim (yet): CUB"
