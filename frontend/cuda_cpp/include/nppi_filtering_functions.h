// Written by scripts/write_missing_headers.py.
#error "nppi_filtering_functions.h is not part of cudasim (yet): NPP"
