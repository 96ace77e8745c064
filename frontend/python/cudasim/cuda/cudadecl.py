"""numba.cuda.cudadecl: the register of rules for types of calls and attributes in kernels."""

from __future__ import annotations

from cudasim.cuda import numbas_target

registry = numbas_target.declarations(__name__)
register = registry.register
register_attr = registry.register_attr
register_global = registry.register_global
