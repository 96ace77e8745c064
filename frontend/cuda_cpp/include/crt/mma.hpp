// Written by scripts/write_missing_headers.py.
#error "crt/mma.hpp is not part of cudasim (yet): warp matrix functions"
