// Written by scripts/write_missing_headers.py.
#error "nvperf_target.h is not part of cudasim (yet): CUPTI"
