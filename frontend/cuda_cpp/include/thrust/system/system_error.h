// Written by scripts/write_missing_headers.py.
#error "thrust/system/system_error.h is not part of cudasim (yet): Thrust"
