// Written by scripts/write_missing_headers.py.
#error "cufft.h is not part of cudasim (yet): cuFFT"
