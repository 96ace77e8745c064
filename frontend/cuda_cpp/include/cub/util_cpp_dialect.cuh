// Written by scripts/write_missing_headers.py.
#error "cub/util_cpp_dialect.cuh is not part of cudasim (yet): CUB"
