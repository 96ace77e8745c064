// Written by scripts/write_missing_headers.py.
#error "npps.h is not part of cudasim (yet): NPP"
