// Written by scripts/write_missing_headers.py.
#error "thrust/random.h is not part of cudasim (yet): Thrust"
