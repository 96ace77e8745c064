// Written by scripts/write_missing_headers.py.
#error "cupti_profiler_host.h is not part of cudasim (yet): CUPTI"
