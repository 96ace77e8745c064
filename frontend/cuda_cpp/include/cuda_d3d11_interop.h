// Written by scripts/write_missing_headers.py.
#error "cuda_d3d11_interop.h is not part of cudasim (yet): interoperability with graphics"
