// Written by scripts/write_missing_headers.py.
#error "cupti_range_profiler.h is not part of cudasim (yet): CUPTI"
