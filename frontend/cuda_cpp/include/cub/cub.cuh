// Written by scripts/write_missing_headers.py.
#error "cub/cub.cuh is not part of cudasim (yet): CUB"
