// Written by scripts/write_missing_headers.py.
#error "thrust/mr/new.h is not part of cudasim (yet): Thrust"
