// Written by scripts/write_missing_headers.py.
#error "nppi_threshold_and_compare_operations.h is not part of cudasim (yet): NPP"
