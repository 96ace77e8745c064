// Written by scripts/write_missing_headers.py.
#error "cusparseLt.h is not part of cudasim (yet): cuSPARSELt"
