// Written by scripts/write_missing_headers.py.
#error "thrust/zip_function.h is not part of cudasim (yet): Thrust"
