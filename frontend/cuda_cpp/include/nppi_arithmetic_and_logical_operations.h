// Written by scripts/write_missing_headers.py.
#error "nppi_arithmetic_and_logical_operations.h is not part of cudasim (yet): NPP"
