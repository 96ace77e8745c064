"""numba.cuda.misc.special: literal_unroll."""


def __getattr__(name):
    from cudasim import cuda

    if name == "literal_unroll":
        return cuda.literal_unroll
    raise AttributeError(f"module 'numba.cuda.misc.special' has no attribute {name!r}")
