"""numba.cuda.simulator_init: the names of numba.cuda, as numba.cuda.device_init has them."""

from __future__ import annotations

from cudasim.cuda.device_init import __getattr__  # noqa: F401
