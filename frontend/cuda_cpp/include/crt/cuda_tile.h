// Written by scripts/write_missing_headers.py.
#error "crt/cuda_tile.h is not part of cudasim (yet): CUDA tiles"
