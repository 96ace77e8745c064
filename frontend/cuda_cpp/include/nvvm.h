// Written by scripts/write_missing_headers.py.
#error "nvvm.h is not part of cudasim (yet): libNVVM"
