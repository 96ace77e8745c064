"""numba.cuda.cache_hints: loads and stores with cache hints, for use in kernels; numba.cuda has them as well."""

from cudasim.compile.intrinsics import TOP_LEVEL as _TOP_LEVEL

__all__ = ["ldca", "ldcg", "ldcs", "ldcv", "ldlu", "stcg", "stcs", "stwb", "stwt"]  # noqa: F822 - made below

globals().update({name: _TOP_LEVEL[name] for name in __all__})
