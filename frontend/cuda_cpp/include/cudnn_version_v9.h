// Written by scripts/write_missing_headers.py.
#error "cudnn_version_v9.h is not part of cudasim (yet): cuDNN"
