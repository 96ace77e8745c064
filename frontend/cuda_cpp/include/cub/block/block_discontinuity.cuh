// Written by scripts/write_missing_headers.py.
#error "cub/block/block_discontinuity.cuh is not part of cudasim (yet): CUB"
