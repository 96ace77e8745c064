// Written by scripts/write_missing_headers.py.
#error "cub/agent/agent_radix_sort_histogram.cuh is not part of cudasim (yet): CUB"
