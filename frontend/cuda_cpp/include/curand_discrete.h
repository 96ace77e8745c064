// Written by scripts/write_missing_headers.py.
#error "curand_discrete.h is not part of cudasim (yet): cuRAND"
