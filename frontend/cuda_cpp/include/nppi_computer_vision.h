// Written by scripts/write_missing_headers.py.
#error "nppi_computer_vision.h is not part of cudasim (yet): NPP"
