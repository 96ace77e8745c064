// Written by scripts/write_missing_headers.py.
#error "cub/agent/agent_for.cuh is not part of cudasim (yet): CUB"
