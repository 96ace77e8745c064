// Written by scripts/write_missing_headers.py.
#error "cudaVDPAUTypedefs.h is not part of cudasim (yet): interoperability with graphics"
