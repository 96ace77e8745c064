// Written by scripts/write_missing_headers.py.
#error "curand_poisson.h is not part of cudasim (yet): cuRAND"
