"""numba.cuda.dispatcher."""
# ruff: noqa: F401

from cudasim.launch.dispatcher import (
    CompileStatistics,
    ConfiguredKernel,
    CUDADispatcher,
    Dispatcher,
    ForAll,
    _unpickled,
)
