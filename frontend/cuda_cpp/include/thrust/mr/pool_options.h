// Written by scripts/write_missing_headers.py.
#error "thrust/mr/pool_options.h is not part of cudasim (yet): Thrust"
