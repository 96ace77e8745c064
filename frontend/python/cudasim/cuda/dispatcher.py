"""numba.cuda.dispatcher's names."""

from cudasim.launch.dispatcher import (
    CUDADispatcher,
    CompileStatistics,
    ConfiguredKernel,
    Dispatcher,
    ForAll,
    _by_name,
    _unpickled,
)  # noqa: F401
