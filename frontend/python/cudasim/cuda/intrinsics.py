"""numba.cuda.intrinsics."""
# ruff: noqa: F401

from cudasim.compile.intrinsics import (
    ALL,
    TOP_LEVEL,
    VECTOR_ALIASES,
    VECTOR_TYPES,
    Intrinsic,
    _by_name,
    members_of,
)
