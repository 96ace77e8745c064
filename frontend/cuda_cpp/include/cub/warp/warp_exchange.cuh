// Written by scripts/write_missing_headers.py.
#error "cub/warp/warp_exchange.cuh is not part of cudasim (yet): CUB"
