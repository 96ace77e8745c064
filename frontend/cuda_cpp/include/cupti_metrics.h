// Written by scripts/write_missing_headers.py.
#error "cupti_metrics.h is not part of cudasim (yet): CUPTI"
