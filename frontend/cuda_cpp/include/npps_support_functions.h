// Written by scripts/write_missing_headers.py.
#error "npps_support_functions.h is not part of cudasim (yet): NPP"
