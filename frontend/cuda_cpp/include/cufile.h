// Written by scripts/write_missing_headers.py.
#error "cufile.h is not part of cudasim (yet): cuFile"
