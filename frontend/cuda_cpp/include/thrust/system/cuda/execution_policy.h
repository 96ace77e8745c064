// Written by scripts/write_missing_headers.py.
#error "thrust/system/cuda/execution_policy.h is not part of cudasim (yet): Thrust"
