// Written by scripts/write_missing_headers.py.
#error "cub/block/block_raking_layout.cuh is not part of cudasim (yet): CUB"
