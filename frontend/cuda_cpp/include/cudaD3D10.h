// Written by scripts/write_missing_headers.py.
#error "cudaD3D10.h is not part of cudasim (yet): interoperability with graphics"
