// Written by scripts/write_missing_headers.py.
#error "texture_fetch_functions.h is not part of cudasim (yet): texture references"
