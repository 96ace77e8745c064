"""numba.cuda.misc: special."""
