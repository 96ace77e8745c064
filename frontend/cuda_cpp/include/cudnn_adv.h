// Written by scripts/write_missing_headers.py.
#error "cudnn_adv.h is not part of cudasim (yet): cuDNN"
