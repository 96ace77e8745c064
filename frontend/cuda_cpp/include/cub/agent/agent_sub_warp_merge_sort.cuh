// Written by scripts/write_missing_headers.py.
#error "cub/agent/agent_sub_warp_merge_sort.cuh is not part of cudasim (yet): CUB"
