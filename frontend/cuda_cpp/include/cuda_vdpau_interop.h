// Written by scripts/write_missing_headers.py.
#error "cuda_vdpau_interop.h is not part of cudasim (yet): interoperability with graphics"
