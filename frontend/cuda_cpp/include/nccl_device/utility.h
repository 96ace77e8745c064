// Written by scripts/write_missing_headers.py.
#error "nccl_device/utility.h is not part of cudasim (yet): NCCL"
