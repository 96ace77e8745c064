"""numba.cuda.libdevicedecl: where rules for the types of libdevice's functions are registered, which is that of all rules."""

from __future__ import annotations

from cudasim.cuda import numbas_target

registry = numbas_target.declarations(__name__)
register_global = registry.register_global
