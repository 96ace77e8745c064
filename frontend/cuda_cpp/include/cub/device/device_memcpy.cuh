// Written by scripts/write_missing_headers.py.
#error "cub/device/device_memcpy.cuh is not part of cudasim (yet): CUB"
