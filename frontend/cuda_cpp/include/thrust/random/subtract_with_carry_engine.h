// Written by scripts/write_missing_headers.py.
#error "thrust/random/subtract_with_carry_engine.h is not part of cudasim (yet): Thrust"
