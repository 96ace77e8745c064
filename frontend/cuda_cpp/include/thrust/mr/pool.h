// Written by scripts/write_missing_headers.py.
#error "thrust/mr/pool.h is not part of cudasim (yet): Thrust"
