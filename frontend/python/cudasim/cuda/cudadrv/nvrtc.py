"""numba.cuda.cudadrv.nvrtc: which compute capabilities can be compiled for."""

from cudasim._cuda_errors import CCSupportError  # noqa: F401

#: LLVM 19's NVPTX processors from sm_50 on.
_CAPABILITIES = ((5, 0), (5, 2), (5, 3), (6, 0), (6, 1), (6, 2), (7, 0), (7, 2), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0))


def get_supported_ccs():
    """Every compute capability that PTX can be made for."""
    return _CAPABILITIES


def get_lowest_supported_cc():
    """The lowest of them that CUDA 13 still accepts."""
    return 7, 5


def find_closest_arch(mycc):
    """The highest supported capability that is not above the given one.

    :raises CCSupportError: when all are
    """
    below = [capability for capability in _CAPABILITIES if capability <= tuple(mycc)]
    if not below:
        raise CCSupportError(f"GPU compute capability {mycc[0]}.{mycc[1]} is not supported: the lowest is 5.0")
    return below[-1]
