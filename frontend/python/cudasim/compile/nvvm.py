"""NVVM IR as text becomes PTX, by cudasim's own LLVM, without libNVVM: numba.cuda.cudadrv.nvvm.

The IR is that of LLVM 19, which has opaque pointers only (`ptr`); libNVVM for older GPUs takes `i32*` too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._cuda_errors import NvvmError
from cudasim.compile.toolkit_files import open_libdevice

if TYPE_CHECKING:
    from typing import Any

#: libNVVM API, "Compilation options", and numba.cuda's names of them.
_OPTIONS = frozenset(
    (
        "arch",
        "debug",
        "fastmath",
        "fma",
        "ftz",
        "g",
        "gen-lto",
        "gen_lto",
        "lineinfo",
        "opt",
        "prec_div",
        "prec_sqrt",
    )
)
_DATA_LAYOUT = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"


def is_available() -> bool:
    """True: kernels can be compiled."""
    return True


class NVVM:
    """libNVVM as programs ask for its version; it is the one whose IR cudasim's images have."""

    def get_version(self) -> tuple[Any, ...]:
        """The version of NVVM IR."""
        return 2, 0

    def get_ir_version(self) -> tuple[Any, ...]:
        """The versions of NVVM IR and of its debug information."""
        return 2, 0, 3, 1

    @property
    def data_layout(self) -> Any:
        """The data layout of compiled modules."""
        return _DATA_LAYOUT

    def check_options(self, options: dict[Any, Any]) -> None:
        """:raises NvvmError: for an option that there is not"""
        unknown = sorted(name for name in options if name.lstrip("-").replace("-", "_") not in _OPTIONS)
        if unknown:
            raise NvvmError(f"ERROR_INVALID_OPTION (7): {', '.join(unknown)}")


class CompilationUnit:
    """NVVM IR to be compiled together.

    :param options: libNVVM's: arch ("compute_80"), opt (0 or 3), g, fma, ftz, prec_div, prec_sqrt
    """

    def __init__(self, options: dict[Any, Any]) -> None:
        NVVM().check_options(options)
        self.options = dict(options)
        self._modules: list[Any] = []
        self._log = ""

    def add_module(self, buffer: str) -> None:
        """Adds a module, text or bytes."""
        self._modules.append(buffer)

    #: The same: a module that nothing uses is left out anyway.
    lazy_add_module = add_module

    def get_log(self) -> Any:
        """The messages of the last compilation."""
        return self._log

    def verify(self) -> None:
        """:raises NvvmError: for IR that is wrong"""
        self._image()

    def _image(self):
        if not self._modules:
            raise NvvmError("ERROR_NO_MODULE_IN_PROGRAM (8)")
        try:
            return _native.linked_image([_image_of(module) for module in self._modules])
        except (ValueError, RuntimeError) as error:
            self._log = str(error)
            raise NvvmError(f"ERROR_INVALID_IR (6): {error}") from None

    def compile(self) -> bytes:
        """The PTX as bytes. :raises NvvmError: for IR that is wrong"""
        image = self._image()
        names = [kernel["name"] for kernel in image.kernels]
        names += re.findall(r'^define [^@]*@"?([\w.$]+)"?\(', image.ir_text(), re.MULTILINE)
        if not names:
            raise NvvmError("ERROR_INVALID_IR (6): there is no function in it")
        architecture = self.options.get("arch", "compute_75").replace("compute_", "sm_")
        try:
            text = _native.ptx(
                image, names[0], architecture, bool(self.options.get("fma", True)),
                optimise=self.options.get("opt", 3) != 0, debug_info="full" if self.options.get("g") else "none",
                launch_bounds=(0, 0, 0), max_registers=0,
            )  # fmt: skip
        except ValueError as error:
            raise NvvmError(f"ERROR_INVALID_OPTION (7): {error}") from None
        return text.encode()


def _image_of(module):
    if isinstance(module, (bytes, bytearray)) and module[:2] in (b"BC", b"\xde\xc0"):
        return _native.KernelImage.from_bitcode(bytes(module))
    text = module.decode() if isinstance(module, (bytes, bytearray)) else str(module)
    text = re.sub(r'target (datalayout|triple) *= *"[^"]*"', "", text)
    header = f'target datalayout = "{_DATA_LAYOUT}"\ntarget triple = "nvptx64-nvidia-cuda"'
    return _native.KernelImage.from_ir_text(f"{header}\n{text}")


def compile_ir(llvmir: str, **options: Any) -> bytes:
    """NVVM IR (a text, or several) as PTX, in bytes. :param options: see CompilationUnit"""
    unit = CompilationUnit(options)
    for module in [llvmir] if isinstance(llvmir, (str, bytes, bytearray)) else llvmir:
        unit.add_module(module)
    return unit.compile()


class LibDevice:
    """CUDA's libdevice as bitcode. :raises FileNotFoundError: without a CUDA toolkit"""

    def __init__(self) -> None:
        self._bitcode = open_libdevice()

    def get(self) -> Any:
        return self._bitcode
