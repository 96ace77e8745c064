"""numba.cuda.cudadrv.devices' names."""

from cudasim.cuda.cudadrv.driver import driver  # noqa: F401
from cudasim.driver.device_selection import current_context as get_context  # noqa: F401
from cudasim.driver.device_selection import gpus, require_context, reset  # noqa: F401
