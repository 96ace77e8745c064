// Written by scripts/write_missing_headers.py.
#error "thrust/mr/validator.h is not part of cudasim (yet): Thrust"
