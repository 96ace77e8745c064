// Written by scripts/write_missing_headers.py.
#error "cusparse.h is not part of cudasim (yet): cuSPARSE"
