// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_select_if.cuh is not part of cudasim (yet): CUB"
