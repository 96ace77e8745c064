// Written by scripts/write_missing_headers.py.
#error "thrust/random/linear_feedback_shift_engine.h is not part of cudasim (yet): Thrust"
