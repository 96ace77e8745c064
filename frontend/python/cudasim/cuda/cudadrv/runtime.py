"""numba.cuda.cudadrv.runtime: the CUDA runtime's version, which is that of the driver that cudasim stands for."""


class Runtime:
    """`numba.cuda.runtime`."""

    #: CUDA 12.6: what the error codes and limits here were taken from.
    _VERSION = (12, 6)

    def get_version(self):
        """(major, minor)"""
        return self._VERSION

    def is_supported_version(self):
        """True."""
        return True

    @property
    def supported_versions(self):
        """The versions that programs may expect to be told as supported."""
        return (self._VERSION,)


runtime = Runtime()


def get_version():
    """(major, minor)"""
    return runtime.get_version()
