// Written by scripts/write_missing_headers.py.
#error "nccl_device/ll_a2a.h is not part of cudasim (yet): NCCL"
