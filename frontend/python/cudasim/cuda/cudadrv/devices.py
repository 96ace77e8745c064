"""numba.cuda.cudadrv.devices' names."""

from cudasim.cuda.context import current_context as get_context  # noqa: F401
from cudasim.cuda.context import gpus, require_context, reset  # noqa: F401
from cudasim.cuda.cudadrv.driver import driver  # noqa: F401
