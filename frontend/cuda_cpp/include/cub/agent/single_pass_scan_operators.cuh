// Written by scripts/write_missing_headers.py.
#error "cub/agent/single_pass_scan_operators.cuh is not part of cudasim (yet): CUB"
