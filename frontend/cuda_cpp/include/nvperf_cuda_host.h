// Written by scripts/write_missing_headers.py.
#error "nvperf_cuda_host.h is not part of cudasim (yet): CUPTI"
