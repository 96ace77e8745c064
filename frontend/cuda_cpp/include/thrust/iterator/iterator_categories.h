// Written by scripts/write_missing_headers.py.
#error "thrust/iterator/iterator_categories.h is not part of cudasim (yet): Thrust"
