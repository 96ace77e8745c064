// Written by scripts/write_missing_headers.py.
#error "thrust/type_traits/is_execution_policy.h is not part of cudasim (yet): Thrust"
