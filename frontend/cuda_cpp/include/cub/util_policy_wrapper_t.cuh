// Written by scripts/write_missing_headers.py.
#error "cub/util_policy_wrapper_t.cuh is not part of cudasim (yet): CUB"
