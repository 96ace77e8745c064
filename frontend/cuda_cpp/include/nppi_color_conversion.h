// Written by scripts/write_missing_headers.py.
#error "nppi_color_conversion.h is not part of cudasim (yet): NPP"
