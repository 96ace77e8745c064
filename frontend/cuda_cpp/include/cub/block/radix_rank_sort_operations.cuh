// Written by scripts/write_missing_headers.py.
#error "cub/block/radix_rank_sort_operations.cuh is not part of cudasim (yet): CUB"
