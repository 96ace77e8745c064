// Written by scripts/write_missing_headers.py.
#error "thrust/iterator/retag.h is not part of cudasim (yet): Thrust"
