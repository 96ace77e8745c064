"""numba.cuda.initialize: Numba calls it to make the CUDA target known to itself; here nothing has to be."""


def initialize_all():
    """Nothing to do."""
