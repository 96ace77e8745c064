// Written by scripts/write_missing_headers.py.
#error "cub/block/specializations/block_histogram_sort.cuh is not part of cudasim (yet): CUB"
