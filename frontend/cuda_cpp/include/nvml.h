// Written by scripts/write_missing_headers.py.
#error "nvml.h is not part of cudasim (yet): NVML"
