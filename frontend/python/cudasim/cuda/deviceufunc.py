"""numba.cuda.deviceufunc."""
# ruff: noqa: F401

from cudasim.ufuncs.ufunc_engine import (
    GUFuncEngine,
    GUFuncSchedule,
    parse_signature,
)
