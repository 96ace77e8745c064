// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_batch_memcpy.cuh is not part of cudasim (yet): CUB"
