// Written by scripts/write_missing_headers.py.
#error "cupti_driver_cbid.h is not part of cudasim (yet): CUPTI"
