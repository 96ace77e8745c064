"""numba.cuda.np.ufunc: the decorators that make ufuncs."""

from cudasim.ufuncs.vectorizers import guvectorize, vectorize

#: A package in numba-cuda; its modules are Numba's own (cudasim/switch.py).
__path__: list[str] = []

__all__ = ["guvectorize", "vectorize"]
