// Written by scripts/write_missing_headers.py.
#error "cub/warp/specializations/warp_reduce_shfl.cuh is not part of cudasim (yet): CUB"
