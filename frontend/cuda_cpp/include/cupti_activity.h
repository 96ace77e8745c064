// Written by scripts/write_missing_headers.py.
#error "cupti_activity.h is not part of cudasim (yet): CUPTI"
