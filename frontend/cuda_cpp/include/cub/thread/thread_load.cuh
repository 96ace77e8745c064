// Written by scripts/write_missing_headers.py.
#error "cub/thread/thread_load.cuh is not part of cudasim (yet): CUB"
