// Written by scripts/write_missing_headers.py.
#error "nccl_device.h is not part of cudasim (yet): NCCL"
