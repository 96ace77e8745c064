// Written by scripts/write_missing_headers.py.
#error "cudaGL.h is not part of cudasim (yet): interoperability with graphics"
