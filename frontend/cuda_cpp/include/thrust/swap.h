// Written by scripts/write_missing_headers.py.
#error "thrust/swap.h is not part of cudasim (yet): Thrust"
