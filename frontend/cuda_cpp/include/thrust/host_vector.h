// Written by scripts/write_missing_headers.py.
#error "thrust/host_vector.h is not part of cudasim (yet): Thrust"
