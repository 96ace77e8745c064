// Written by scripts/write_missing_headers.py.
#error "nccl_device/barrier.h is not part of cudasim (yet): NCCL"
