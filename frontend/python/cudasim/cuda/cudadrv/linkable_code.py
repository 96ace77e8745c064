"""numba.cuda.cudadrv.linkable_code."""
# ruff: noqa: F401

from cudasim.compile.linkable_code import (
    BY_ENDING,
    LTOIR,
    Archive,
    Cubin,
    CUSource,
    Fatbin,
    LinkableCode,
    Object,
    PTXSource,
    kind_of_file,
)
