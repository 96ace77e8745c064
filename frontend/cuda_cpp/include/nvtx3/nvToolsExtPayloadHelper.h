// Written by scripts/write_missing_headers.py.
#error "nvtx3/nvToolsExtPayloadHelper.h is not part of cudasim (yet): NVTX extensions"
