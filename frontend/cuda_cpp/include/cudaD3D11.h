// Written by scripts/write_missing_headers.py.
#error "cudaD3D11.h is not part of cudasim (yet): interoperability with graphics"
