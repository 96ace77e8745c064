// Written by scripts/write_missing_headers.py.
#error "nccl.h is not part of cudasim (yet): NCCL"
