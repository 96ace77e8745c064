// Written by scripts/write_missing_headers.py.
#error "nvrtc.h is not part of cudasim (yet): NVRTC"
