// Written by scripts/write_missing_headers.py.
#error "nvPTXCompiler.h is not part of cudasim (yet): PTX compiler API"
