// Written by scripts/write_missing_headers.py.
#error "nppdefs.h is not part of cudasim (yet): NPP"
