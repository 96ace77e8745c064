// Written by scripts/write_missing_headers.py.
#error "cub/util_math.cuh is not part of cudasim (yet): CUB"
