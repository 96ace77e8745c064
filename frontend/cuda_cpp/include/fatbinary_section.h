// Written by scripts/write_missing_headers.py.
#error "fatbinary_section.h is not part of cudasim (yet): fat binaries"
