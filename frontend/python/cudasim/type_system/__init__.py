"""The types of kernels' values: Numba's names and rules."""
