// Written by scripts/write_missing_headers.py.
#error "cupti_pcsampling_util.h is not part of cudasim (yet): CUPTI"
