"""numba.cuda.libdeviceimpl: where code for libdevice's functions is registered, which is that of all code."""

from __future__ import annotations

from cudasim.cuda import numbas_target

registry = numbas_target.implementations(__name__)
lower = registry.lower
