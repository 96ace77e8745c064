"""numba.cuda.intrinsics's names."""

from cudasim.compile.intrinsics import (
    ALL,
    Intrinsic,
    TOP_LEVEL,
    VECTOR_ALIASES,
    VECTOR_TYPES,
    _by_name,
    members_of,
)  # noqa: F401
