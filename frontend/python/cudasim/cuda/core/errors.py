"""numba.cuda.core.errors where there is no numba."""

from cudasim._numba_error_classes import *  # noqa: F401,F403
