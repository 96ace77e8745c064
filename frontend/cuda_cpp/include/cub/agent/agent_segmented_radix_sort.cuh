// Written by scripts/write_missing_headers.py.
#error "cub/agent/agent_segmented_radix_sort.cuh is not part of cudasim (yet): CUB"
