// Written by scripts/write_missing_headers.py.
#error "thrust/random/uniform_real_distribution.h is not part of cudasim (yet): Thrust"
