// Written by scripts/write_missing_headers.py.
#error "thrust/system/error_code.h is not part of cudasim (yet): Thrust"
