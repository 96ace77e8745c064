"""numba.cuda.np: numpy_support."""
