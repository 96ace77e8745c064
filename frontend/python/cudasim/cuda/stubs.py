"""numba.cuda.stubs: the names that kernels use, under the name of the module where Numba has them."""

from cudasim.compile.intrinsics import TOP_LEVEL as _TOP_LEVEL


def __getattr__(name):
    if name in _TOP_LEVEL:
        return _TOP_LEVEL[name]
    raise AttributeError(f"module 'numba.cuda.stubs' has no attribute {name!r}")


def __dir__():
    return sorted(_TOP_LEVEL)
