// Written by scripts/write_missing_headers.py.
#error "thrust/iterator/iterator_traits.h is not part of cudasim (yet): Thrust"
