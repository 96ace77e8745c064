// Written by scripts/write_missing_headers.py.
#error "surface_functions.h is not part of cudasim (yet): texture references"
