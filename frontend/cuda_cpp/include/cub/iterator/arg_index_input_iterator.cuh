// Written by scripts/write_missing_headers.py.
#error "cub/iterator/arg_index_input_iterator.cuh is not part of cudasim (yet): CUB"
