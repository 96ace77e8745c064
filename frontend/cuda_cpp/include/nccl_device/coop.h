// Written by scripts/write_missing_headers.py.
#error "nccl_device/coop.h is not part of cudasim (yet): NCCL"
