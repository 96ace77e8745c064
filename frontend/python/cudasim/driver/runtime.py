"""The CUDA runtime's version, which is that of the driver that cudasim stands for: numba.cuda.cudadrv.runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class Runtime:
    """`numba.cuda.runtime`."""

    #: CUDA 12.6: what the error codes and limits here were taken from.
    _VERSION = (12, 6)

    def get_version(self) -> tuple[int, ...]:
        """(major, minor)"""
        return self._VERSION

    def is_supported_version(self) -> bool:
        """True."""
        return True

    @property
    def supported_versions(self) -> tuple[Any, ...]:
        """The versions that programs may expect to be told as supported."""
        return (self._VERSION,)


runtime = Runtime()


def get_version() -> tuple[int, ...]:
    """(major, minor)"""
    return runtime.get_version()
