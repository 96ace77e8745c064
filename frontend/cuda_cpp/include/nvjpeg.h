// Written by scripts/write_missing_headers.py.
#error "nvjpeg.h is not part of cudasim (yet): nvJPEG"
