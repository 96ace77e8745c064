// Written by scripts/write_missing_headers.py.
#error "cub/warp/warp_store.cuh is not part of cudasim (yet): CUB"
