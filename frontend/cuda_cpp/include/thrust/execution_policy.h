// Written by scripts/write_missing_headers.py.
#error "thrust/execution_policy.h is not part of cudasim (yet): Thrust"
