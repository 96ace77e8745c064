// Written by scripts/write_missing_headers.py.
#error "cufftw.h is not part of cudasim (yet): cuFFT"
