// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/kernels/for_each_in_extents_kernel.cuh is not part of cudasim (yet): CUB"
