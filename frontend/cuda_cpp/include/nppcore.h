// Written by scripts/write_missing_headers.py.
#error "nppcore.h is not part of cudasim (yet): NPP"
