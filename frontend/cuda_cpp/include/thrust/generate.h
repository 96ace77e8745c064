// Written by scripts/write_missing_headers.py.
#error "thrust/generate.h is not part of cudasim (yet): Thrust"
