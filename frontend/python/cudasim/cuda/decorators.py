"""numba.cuda.decorators's names."""

from cudasim.launch.decorators import jit, warn_of_combinations  # noqa: F401
