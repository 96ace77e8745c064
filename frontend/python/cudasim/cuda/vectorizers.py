"""numba.cuda.vectorizers."""
# ruff: noqa: F401

from cudasim.ufuncs.vectorizers import (
    CUDAGUFuncVectorize,
    CUDAVectorize,
    Recipe,
    guvectorize,
    vectorize,
)
