// Written by scripts/write_missing_headers.py.
#error "thrust/sequence.h is not part of cudasim (yet): Thrust"
