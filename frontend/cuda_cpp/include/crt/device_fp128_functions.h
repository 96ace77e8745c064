// Written by scripts/write_missing_headers.py.
#error "crt/device_fp128_functions.h is not part of cudasim (yet): 128-bit floating-point numbers"
