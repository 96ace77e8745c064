// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/kernels/scan.cuh is not part of cudasim (yet): CUB"
