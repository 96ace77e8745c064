// Written by scripts/write_missing_headers.py.
#error "nvToolsExtSync.h is not part of cudasim (yet): NVTX synchronisation"
