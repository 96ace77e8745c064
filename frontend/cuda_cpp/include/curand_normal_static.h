// Written by scripts/write_missing_headers.py.
#error "curand_normal_static.h is not part of cudasim (yet): cuRAND"
