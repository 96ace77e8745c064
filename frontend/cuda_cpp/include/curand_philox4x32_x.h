// Written by scripts/write_missing_headers.py.
#error "curand_philox4x32_x.h is not part of cudasim (yet): cuRAND"
