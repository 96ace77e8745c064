// Written by scripts/write_missing_headers.py.
#error "nvgraph.h is not part of cudasim (yet): nvGRAPH"
