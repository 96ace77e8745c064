// Written by scripts/write_missing_headers.py.
#error "generated_cudart_removed_meta.h is not part of cudasim (yet): CUPTI"
