// Written by scripts/write_missing_headers.py.
#error "curand_mtgp32dc_p_11213.h is not part of cudasim (yet): cuRAND"
