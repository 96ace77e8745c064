// Written by scripts/write_missing_headers.py.
#error "cupti_activity_deprecated.h is not part of cudasim (yet): CUPTI"
