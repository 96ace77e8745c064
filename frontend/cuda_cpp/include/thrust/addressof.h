// Written by scripts/write_missing_headers.py.
#error "thrust/addressof.h is not part of cudasim (yet): Thrust"
