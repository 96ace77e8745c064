// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/dispatch_streaming_reduce.cuh is not part of cudasim (yet): CUB"
