// Written by scripts/write_missing_headers.py.
#error "curand_mrg32k3a.h is not part of cudasim (yet): cuRAND"
