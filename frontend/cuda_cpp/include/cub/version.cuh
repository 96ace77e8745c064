// Written by scripts/write_missing_headers.py.
#error "cub/version.cuh is not part of cudasim (yet): CUB"
