// Written by scripts/write_missing_headers.py.
#error "cub/grid/grid_queue.cuh is not part of cudasim (yet): CUB"
