// Written by scripts/write_missing_headers.py.
#error "cudnn_graph.h is not part of cudasim (yet): cuDNN"
