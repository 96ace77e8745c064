"""numba.cuda.initialize: Numba calls it to make the CUDA target known to itself; here nothing has to be."""

from __future__ import annotations


def initialize_all() -> None:
    """Does nothing: there is nothing to initialise."""
