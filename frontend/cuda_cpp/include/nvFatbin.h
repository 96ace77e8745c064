// Written by scripts/write_missing_headers.py.
#error "nvFatbin.h is not part of cudasim (yet): nvFatbin"
