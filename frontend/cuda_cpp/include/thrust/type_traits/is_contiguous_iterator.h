// Written by scripts/write_missing_headers.py.
#error "thrust/type_traits/is_contiguous_iterator.h is not part of cudasim (yet): Thrust"
