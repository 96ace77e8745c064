// Written by scripts/write_missing_headers.py.
#error "nvJitLink.h is not part of cudasim (yet): nvJitLink"
