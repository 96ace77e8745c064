// Written by scripts/write_missing_headers.py.
#error "cub/block/specializations/block_reduce_raking.cuh is not part of cudasim (yet): CUB"
