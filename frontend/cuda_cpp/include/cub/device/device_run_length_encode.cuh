// Written by scripts/write_missing_headers.py.
#error "cub/device/device_run_length_encode.cuh is not part of cudasim (yet): CUB"
