// Written by scripts/write_missing_headers.py.
#error "thrust/type_traits/logical_metafunctions.h is not part of cudasim (yet): Thrust"
