// Written by scripts/write_missing_headers.py.
#error "cub/agent/agent_batch_memcpy.cuh is not part of cudasim (yet): CUB"
