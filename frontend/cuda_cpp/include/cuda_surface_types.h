// Written by scripts/write_missing_headers.py.
#error "cuda_surface_types.h is not part of cudasim (yet): texture references"
