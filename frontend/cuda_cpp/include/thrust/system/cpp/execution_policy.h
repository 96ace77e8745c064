// Written by scripts/write_missing_headers.py.
#error "thrust/system/cpp/execution_policy.h is not part of cudasim (yet): Thrust"
