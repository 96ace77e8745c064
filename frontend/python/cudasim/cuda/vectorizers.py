"""numba.cuda.vectorizers's names."""

from cudasim.ufuncs.vectorizers import CUDAGUFuncVectorize, CUDAVectorize, Recipe, guvectorize, vectorize  # noqa: F401
