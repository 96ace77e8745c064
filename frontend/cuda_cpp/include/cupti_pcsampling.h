// Written by scripts/write_missing_headers.py.
#error "cupti_pcsampling.h is not part of cudasim (yet): CUPTI"
