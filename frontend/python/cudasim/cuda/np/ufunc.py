"""numba.cuda.np.ufunc: the decorators that make ufuncs."""

from cudasim.cuda.vectorizers import guvectorize, vectorize

__all__ = ["guvectorize", "vectorize"]
