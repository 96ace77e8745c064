// Written by scripts/write_missing_headers.py.
#error "nppi_support_functions.h is not part of cudasim (yet): NPP"
