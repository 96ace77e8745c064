// Written by scripts/write_missing_headers.py.
#error "curand_mtgp32.h is not part of cudasim (yet): cuRAND"
