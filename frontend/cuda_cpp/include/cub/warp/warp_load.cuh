// Written by scripts/write_missing_headers.py.
#error "cub/warp/warp_load.cuh is not part of cudasim (yet): CUB"
