// Written by scripts/write_missing_headers.py.
#error "thrust/mr/fancy_pointer_resource.h is not part of cudasim (yet): Thrust"
