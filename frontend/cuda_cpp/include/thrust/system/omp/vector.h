// Written by scripts/write_missing_headers.py.
#error "thrust/system/omp/vector.h is not part of cudasim (yet): Thrust"
