// Written by scripts/write_missing_headers.py.
#error "cub/block/block_merge_sort.cuh is not part of cudasim (yet): CUB"
