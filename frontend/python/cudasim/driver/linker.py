"""numba.cuda's linker: PTX and CUDA C++ (where an nvcc is) become one module.

linker = driver.Linker.new(cc=(8, 0))
linker.add_ptx(text)
linker.add_file_guess_ext("functions.ptx")
module = cuda.current_context().create_module_image(linker.complete())
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._cuda_errors import LinkerError
from cudasim.compile.gpu_code import ptx_of
from cudasim.compile.linkable_code import BY_ENDING, CUSource, LinkableCode, PTXSource, kind_of_file
from cudasim.compile.linked_code import image_with_kernels
from cudasim.device.current import current_device
from cudasim.driver.module import LinkedCode

if TYPE_CHECKING:
    from typing import Any

_KINDS = {made.kind: made for made in BY_ENDING.values()}
#: CUjitInputType of the CUDA Driver API, by which add_file() and add_data() may name a kind.
_NUMBERED: dict[Any, str] = {0: "cubin", 1: "ptx", 2: "fatbin", 3: "object", 4: "archive"}


class Linker:
    """What is to be linked, in order.

    :param cc: compute capability; the code is for any
    :param max_registers, lineinfo, lto, additional_flags: what a GPU's linker takes; they change nothing here
    """

    def __init__(
        self,
        max_registers: int | None = None,
        lineinfo: bool = False,
        cc: tuple[int, ...] | None = None,
        lto: Any = None,
        additional_flags: Any = None,
    ) -> None:
        if cc is None:
            cc = current_device().compute_capability
        major, minor = cc
        self.arch, self.cc = f"sm_{major}{minor}", tuple(cc)
        self.max_registers, self.lineinfo, self.lto = max_registers, lineinfo, bool(lto)
        self.additional_flags = additional_flags
        self._parts: list[Any] = []
        self._setup: list[Any] = []
        self._teardown: list[Any] = []
        self._image: Any = None
        self._log = ""

    @classmethod
    def new(
        cls,
        max_registers: int = 0,
        lineinfo: bool = False,
        cc: tuple[int, ...] | None = None,
        lto: Any = None,
        additional_flags: Any = None,
    ) -> Linker:
        """A linker."""
        return cls(max_registers, lineinfo, cc, lto, additional_flags)

    @property
    def info_log(self) -> str:
        """What the linker has to say besides errors: nothing."""
        return ""

    @property
    def error_log(self) -> str:
        """The messages of all errors."""
        return self._log

    def _add(self, code):
        try:
            self._parts.append(image_with_kernels(code))
        except LinkerError as error:
            self._log += f"{error}\n"
            raise
        self._setup += [code.setup_callback] if code.setup_callback else []
        self._teardown += [code.teardown_callback] if code.teardown_callback else []

    def add_data(self, data: bytes, kind: str, name: str) -> None:
        """Code in memory. :param kind: "ptx", "cu", "cubin", …, or the CUDA driver's number"""
        kind = _NUMBERED.get(kind, kind)
        if kind not in _KINDS:
            raise LinkerError(f"{name}: there is no kind of code {kind!r}; known are {', '.join(_KINDS)}")
        self._add(_KINDS[kind](data, name))

    def add_ptx(self, ptx: bytes | str, name: str = "<cudapy-ptx>") -> None:
        self._add(PTXSource(ptx, name))

    def add_cu(self, cu: Any, name: str = "<cudapy-cu>") -> None:
        self._add(CUSource(cu, name))

    def add_cu_file(self, path: Any) -> None:
        self.add_file(path, "cu")

    def add_cubin(self, cubin: bytes, name: str = "<cudapy-cubin>") -> None:
        self.add_data(cubin, "cubin", name)

    def add_fatbin(self, fatbin: Any, name: str = "<cudapy-fatbin>") -> None:
        self.add_data(fatbin, "fatbin", name)

    def add_object(self, obj: Any, name: str = "<cudapy-object>") -> None:
        self.add_data(obj, "object", name)

    def add_library(self, lib: Any, name: str = "<cudapy-lib>") -> None:
        self.add_data(lib, "archive", name)

    def add_ltoir(self, ltoir: Any, name: str = "<cudapy-ltoir>") -> None:
        self.add_data(ltoir, "ltoir", name)

    def add_file(self, path: Any, kind: str) -> None:
        """A file of a kind. :raises LinkerError: when it is not there"""
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            raise LinkerError(f"{os.fspath(path)} not found") from None
        self.add_data(content, kind, os.fspath(path))

    def add_file_guess_ext(self, path_or_code: Any, ignore_nonlto: bool = False) -> Any:
        """LinkableCode, or a file whose ending says what it is.

        :raises RuntimeError: for an unknown ending
        """
        if isinstance(path_or_code, LinkableCode):
            return self._add(path_or_code)
        self.add_file(path_or_code, kind_of_file(path_or_code).kind)

    def complete(self) -> LinkedCode:
        """Links what was added; create_module_image() loads the result. :raises LinkerError: for what does not fit"""
        if self._image is None:
            try:
                self._image = _native.linked_image(self._parts)
            except _native.LinkError as error:
                self._log += f"{error}\n"
                raise LinkerError(str(error)) from None
        return LinkedCode(self._image, tuple(self._setup), tuple(self._teardown))

    def get_linked_ptx(self) -> bytes:
        """The PTX of what was linked."""
        image = self.complete().image
        if not image.kernels:
            raise LinkerError("there is no kernel in the linked code")
        return ptx_of(image, image.kernels[0]["name"], self.arch, {}).encode()

    def close(self) -> None:
        """Forgets what was added."""
        self._parts, self._image = [], None
