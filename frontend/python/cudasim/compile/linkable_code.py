"""Device code of other compilers, to be linked with kernels.

The objects hold what they are given; cudasim/compile/linked_code.py makes something of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class LinkableCode:
    """Device code in memory, or in a file.

    :param data: bytes, text, or an object with a read() method that gives them
    :ivar kind: what it is, as CUDA's linker calls it
    """

    kind = ""
    default_name = "<unnamed-linkable-code>"

    def __init__(
        self,
        data: bytes | str,
        name: str | None = None,
        setup_callback: Callable[..., Any] | None = None,
        teardown_callback: Callable[..., Any] | None = None,
        nrt: bool = False,
    ) -> None:
        for which, callback in (("setup", setup_callback), ("teardown", teardown_callback)):
            if callback is not None and not callable(callback):
                raise TypeError(
                    f"{which}_callback must be callable: it is called with the module; {callback!r} cannot be called"
                )
        self._data = data
        self._name = name
        self.setup_callback, self.teardown_callback, self.nrt = setup_callback, teardown_callback, nrt

    @property
    def name(self) -> str:
        return self._name or self.default_name

    @property
    def data(self) -> bytes | str:
        if not isinstance(self._data, (str, bytes)):
            self._data = self._data.read()
        return self._data

    @classmethod
    def from_path(cls, path: str) -> LinkableCode:
        """The file's content, of the kind that its ending says. :raises ValueError: for an unknown ending"""
        with open(path, "rb") as file:
            content: Any = file.read()
        ending = os.path.splitext(path)[1]
        made = BY_ENDING.get(ending[1:].lower())
        if made is None:
            raise ValueError(f"Unknown extension: {ending}")
        if made in (PTXSource, CUSource):
            content = content.decode(errors="surrogateescape")  # comments may be in any encoding
        return made(content, name=os.path.basename(path))

    @classmethod
    def from_path_or_obj(cls, path_or_obj: LinkableCode) -> LinkableCode:
        """The object itself, or the file's content."""
        if isinstance(path_or_obj, LinkableCode):
            return path_or_obj
        return cls.from_path(os.fspath(path_or_obj))


class PTXSource(LinkableCode):
    """PTX text."""

    kind, default_name = "ptx", "<unnamed-ptx>"
    code: bytes  # of the results of nvrtc.compile() only, as is code_type
    code_type: str


class CUSource(LinkableCode):
    """CUDA C++ source."""

    kind, default_name = "cu", "<unnamed-cu>"


class Fatbin(LinkableCode):
    """A fat binary."""

    kind, default_name = "fatbin", "<unnamed-fatbin>"


class Cubin(LinkableCode):
    """An ELF image for one architecture."""

    kind, default_name = "cubin", "<unnamed-cubin>"


class Archive(LinkableCode):
    """An archive of objects."""

    kind, default_name = "archive", "<unnamed-archive>"


class Object(LinkableCode):
    """A host object with device code."""

    kind, default_name = "object", "<unnamed-object>"


class LTOIR(LinkableCode):
    """Intermediate code for link-time optimisation."""

    kind, default_name = "ltoir", "<unnamed-ltoir>"


def kind_of_file(path: Any) -> type[LinkableCode]:
    """The class for a file, by its ending. :raises RuntimeError: for an unknown one"""
    ending = os.path.splitext(os.fspath(path))[1]
    if not ending:
        raise RuntimeError(f"Don't know how to link file with no extension: {os.fspath(path)}")
    if ending[1:].lower() not in BY_ENDING:
        raise RuntimeError(
            f"Don't know how to link file with extension {ending}: {os.fspath(path)}; known are {', '.join(BY_ENDING)}"
        )
    return BY_ENDING[ending[1:].lower()]


BY_ENDING = {
    "o": Object, "ptx": PTXSource, "a": Archive, "lib": Archive, "cubin": Cubin, "fatbin": Fatbin, "ltoir": LTOIR,
    "cu": CUSource,
}  # fmt: skip
