// Written by scripts/write_missing_headers.py.
#error "cub/device/dispatch/tuning/tuning_run_length_encode.cuh is not part of cudasim (yet): CUB"
