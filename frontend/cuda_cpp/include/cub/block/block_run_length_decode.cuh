// Written by scripts/write_missing_headers.py.
#error "cub/block/block_run_length_decode.cuh is not part of cudasim (yet): CUB"
