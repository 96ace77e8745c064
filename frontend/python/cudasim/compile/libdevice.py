"""NVIDIA's libdevice: which one the option of that name means, and kernel images that are linked with it.

PTX is always linked with NVIDIA's functions, where they are found; the simulator computes its own unless the
option asks for NVIDIA's (gpu_backend/simulated_libdevice).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cudasim import _native, options

if TYPE_CHECKING:
    from typing import Any


#: The newest architecture that LLVM 19 writes PTX for; libdevice asks for none that is newer.
_NEWEST = (9, 0)


class Libdevice(NamedTuple):
    """One libdevice.10.bc."""

    path: str
    #: SHA-256 of the file, in hex
    hash: str


def found(path: str = "") -> Libdevice | None:
    """The library at a path, or the one on this machine.

    :raises options.OptionError: where the file at the path is none
    """
    try:
        where = _native.find_libdevice(path)
    except ValueError as error:
        if not path:
            raise
        source = options.value_and_source("libdevice")[1]
        raise options.OptionError(
            f"{source}: {error}. The option libdevice takes {options.BY_NAME['libdevice'].accepts}"
        ) from None
    return None if where is None else Libdevice(*where)


def given_path() -> str:
    """The path that the option names; empty where it names none."""
    value = options.get("libdevice")
    return "" if value in ("own", "auto") else value


def of_simulation() -> Libdevice | None:
    """The library whose functions compiled kernels run with; None for the simulator's own.

    :raises options.OptionError: where the option names a file that is none
    """
    return None if options.get("libdevice") == "own" else found(given_path())


def linked(image: Any, library: Libdevice | None, capability: tuple[int, ...]) -> Any:
    """The image as it is to run: with the library's functions, or as it is where `library` is None."""
    if library is None:
        return image
    return _native.with_libdevice(image, library.path, "sm_{}{}".format(*min(capability, _NEWEST)))
