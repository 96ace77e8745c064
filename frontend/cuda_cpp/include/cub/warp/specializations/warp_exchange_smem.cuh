// Written by scripts/write_missing_headers.py.
#error "cub/warp/specializations/warp_exchange_smem.cuh is not part of cudasim (yet): CUB"
