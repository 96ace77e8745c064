"""What kernels of the package itself compute: random numbers, reductions, transposes."""
