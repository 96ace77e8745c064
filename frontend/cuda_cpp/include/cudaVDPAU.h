// Written by scripts/write_missing_headers.py.
#error "cudaVDPAU.h is not part of cudasim (yet): interoperability with graphics"
