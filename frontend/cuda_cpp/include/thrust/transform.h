// Written by scripts/write_missing_headers.py.
#error "thrust/transform.h is not part of cudasim (yet): Thrust"
