// Written by scripts/write_missing_headers.py.
#error "cub/thread/thread_sort.cuh is not part of cudasim (yet): CUB"
