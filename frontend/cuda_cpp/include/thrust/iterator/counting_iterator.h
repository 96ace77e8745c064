// Written by scripts/write_missing_headers.py.
#error "thrust/iterator/counting_iterator.h is not part of cudasim (yet): Thrust"
