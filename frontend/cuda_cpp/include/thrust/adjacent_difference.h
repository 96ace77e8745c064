// Written by scripts/write_missing_headers.py.
#error "thrust/adjacent_difference.h is not part of cudasim (yet): Thrust"
