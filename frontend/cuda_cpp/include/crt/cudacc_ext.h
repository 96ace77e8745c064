// Written by scripts/write_missing_headers.py.
#error "crt/cudacc_ext.h is not part of cudasim (yet): CUDA tiles"
