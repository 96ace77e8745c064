// Written by scripts/write_missing_headers.py.
#error "cupti_version.h is not part of cudasim (yet): CUPTI"
