// Written by scripts/write_missing_headers.py.
#error "cub/block/specializations/block_reduce_warp_reductions.cuh is not part of cudasim (yet): CUB"
