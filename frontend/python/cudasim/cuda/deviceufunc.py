"""numba.cuda.deviceufunc's names."""

from cudasim.ufuncs.ufunc_engine import GUFuncEngine, GUFuncSchedule, parse_signature  # noqa: F401
