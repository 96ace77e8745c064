// Written by scripts/write_missing_headers.py.
#error "generated_cuda_meta.h is not part of cudasim (yet): CUPTI"
