// Written by scripts/write_missing_headers.py.
#error "thrust/random/discard_block_engine.h is not part of cudasim (yet): Thrust"
