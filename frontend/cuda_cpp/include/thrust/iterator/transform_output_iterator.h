// Written by scripts/write_missing_headers.py.
#error "thrust/iterator/transform_output_iterator.h is not part of cudasim (yet): Thrust"
