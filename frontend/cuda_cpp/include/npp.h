// Written by scripts/write_missing_headers.py.
#error "npp.h is not part of cudasim (yet): NPP"
