// Written by scripts/write_missing_headers.py.
#error "thrust/inner_product.h is not part of cudasim (yet): Thrust"
