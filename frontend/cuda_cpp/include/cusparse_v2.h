// Written by scripts/write_missing_headers.py.
#error "cusparse_v2.h is not part of cudasim (yet): cuSPARSE"
