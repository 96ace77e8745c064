// Written by scripts/write_missing_headers.py.
#error "thrust/type_traits/is_operator_plus_function_object.h is not part of cudasim (yet): Thrust"
