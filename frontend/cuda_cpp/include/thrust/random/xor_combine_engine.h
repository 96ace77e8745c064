// Written by scripts/write_missing_headers.py.
#error "thrust/random/xor_combine_engine.h is not part of cudasim (yet): Thrust"
