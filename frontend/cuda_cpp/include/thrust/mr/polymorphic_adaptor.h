// Written by scripts/write_missing_headers.py.
#error "thrust/mr/polymorphic_adaptor.h is not part of cudasim (yet): Thrust"
