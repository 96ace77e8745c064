// Written by scripts/write_missing_headers.py.
#error "cub/config.cuh is not part of cudasim (yet): CUB"
