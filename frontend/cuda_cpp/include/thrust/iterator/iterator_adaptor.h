// Written by scripts/write_missing_headers.py.
#error "thrust/iterator/iterator_adaptor.h is not part of cudasim (yet): Thrust"
