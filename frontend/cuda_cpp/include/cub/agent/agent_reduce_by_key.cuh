// Written by scripts/write_missing_headers.py.
#error "cub/agent/agent_reduce_by_key.cuh is not part of cudasim (yet): CUB"
