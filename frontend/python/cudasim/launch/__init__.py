"""@cuda.jit: dispatchers, configurations, arguments, compiled kernels."""
