"""What numba.cuda does with kernels of its own: numba.cuda.kernels."""
