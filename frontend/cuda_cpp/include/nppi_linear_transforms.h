// Written by scripts/write_missing_headers.py.
#error "nppi_linear_transforms.h is not part of cudasim (yet): NPP"
