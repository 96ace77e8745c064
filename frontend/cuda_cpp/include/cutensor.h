// Written by scripts/write_missing_headers.py.
#error "cutensor.h is not part of cudasim (yet): cuTENSOR"
