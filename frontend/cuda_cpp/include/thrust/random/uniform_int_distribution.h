// Written by scripts/write_missing_headers.py.
#error "thrust/random/uniform_int_distribution.h is not part of cudasim (yet): Thrust"
