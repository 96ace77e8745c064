// Written by scripts/write_missing_headers.py.
#error "thrust/type_traits/integer_sequence.h is not part of cudasim (yet): Thrust"
