// Written by scripts/write_missing_headers.py.
#error "cupti_checkpoint.h is not part of cudasim (yet): CUPTI"
