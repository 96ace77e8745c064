// Written by scripts/write_missing_headers.py.
#error "cub/grid/grid_even_share.cuh is not part of cudasim (yet): CUB"
