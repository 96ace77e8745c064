"""numba.cuda.cudamath: where rules for the types of mathematical functions are registered, which is that of all rules."""

from __future__ import annotations

from cudasim.cuda import numbas_target

registry = numbas_target.declarations(__name__)
infer_global = registry.register_global
__getattr__ = numbas_target.refusing(
    "numba.cuda.cudamath",
    "Numba's own rules for mathematical functions are not used; register rules with `infer_global`",
)
