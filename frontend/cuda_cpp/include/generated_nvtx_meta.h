// Written by scripts/write_missing_headers.py.
#error "generated_nvtx_meta.h is not part of cudasim (yet): CUPTI"
