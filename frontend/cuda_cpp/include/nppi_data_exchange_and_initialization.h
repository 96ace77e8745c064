// Written by scripts/write_missing_headers.py.
#error "nppi_data_exchange_and_initialization.h is not part of cudasim (yet): NPP"
