// Written by scripts/write_missing_headers.py.
#error "cub/iterator/cache_modified_input_iterator.cuh is not part of cudasim (yet): CUB"
