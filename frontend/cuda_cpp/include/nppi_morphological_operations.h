// Written by scripts/write_missing_headers.py.
#error "nppi_morphological_operations.h is not part of cudasim (yet): NPP"
