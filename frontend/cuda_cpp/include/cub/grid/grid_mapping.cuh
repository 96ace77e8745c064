// Written by scripts/write_missing_headers.py.
#error "cub/grid/grid_mapping.cuh is not part of cudasim (yet): CUB"
