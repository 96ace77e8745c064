// Written by scripts/write_missing_headers.py.
#error "npps_arithmetic_and_logical_operations.h is not part of cudasim (yet): NPP"
