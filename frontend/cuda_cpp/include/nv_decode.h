// Written by scripts/write_missing_headers.py.
#error "nv_decode.h is not part of cudasim (yet): demangling"
