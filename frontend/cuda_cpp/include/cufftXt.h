// Written by scripts/write_missing_headers.py.
#error "cufftXt.h is not part of cudasim (yet): cuFFT"
