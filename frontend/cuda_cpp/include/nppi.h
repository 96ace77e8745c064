// Written by scripts/write_missing_headers.py.
#error "nppi.h is not part of cudasim (yet): NPP"
