// Written by scripts/write_missing_headers.py.
#error "thrust/mr/disjoint_tls_pool.h is not part of cudasim (yet): Thrust"
