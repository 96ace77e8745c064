// Written by scripts/write_missing_headers.py.
#error "cudalibxt.h is not part of cudasim (yet): cuFFT"
