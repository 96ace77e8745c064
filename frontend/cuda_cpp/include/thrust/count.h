// Written by scripts/write_missing_headers.py.
#error "thrust/count.h is not part of cudasim (yet): Thrust"
