"""numba.cuda.cudaimpl: the register of code for calls, attributes and conversions in kernels."""

from __future__ import annotations

from cudasim.cuda import numbas_target

registry = numbas_target.implementations(__name__)
lower = registry.lower
lower_attr = registry.lower_getattr
lower_constant = registry.lower_constant
lower_getattr_generic = registry.lower_getattr_generic
lower_setattr = registry.lower_setattr
lower_setattr_generic = registry.lower_setattr_generic
lower_cast = registry.lower_cast
