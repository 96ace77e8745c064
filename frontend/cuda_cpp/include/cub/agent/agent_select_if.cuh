// Written by scripts/write_missing_headers.py.
#error "cub/agent/agent_select_if.cuh is not part of cudasim (yet): CUB"
