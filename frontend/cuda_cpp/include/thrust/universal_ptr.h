// Written by scripts/write_missing_headers.py.
#error "thrust/universal_ptr.h is not part of cudasim (yet): Thrust"
