// Written by scripts/write_missing_headers.py.
#error "cub/block/specializations/block_reduce_raking_commutative_only.cuh is not part of cudasim (yet): CUB"
