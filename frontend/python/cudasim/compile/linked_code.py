"""Device code of other compilers, for kernels to call: PTX becomes an image of functions, CUDA C++ becomes PTX by nvcc
where there is one. Files are read when a kernel that needs them is compiled, once for each state of the file.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._cuda_errors import LinkerError
from cudasim.device.current import current_device

if TYPE_CHECKING:
    from typing import Any

    from cudasim.compile.linkable_code import LinkableCode

#: The oldest compute capability that nvcc 13 compiles for.
_OLDEST = (7, 5)

_images: dict[Any, Any] = {}  # (name, text) → KernelImage


def checked_links(links: Any) -> tuple[Any, ...]:
    """The `link` argument of @cuda.jit and declare_device() as a tuple.

    :raises TypeError: for what is neither a path nor linkable code
    """
    from cudasim.compile.linkable_code import LinkableCode  # most programs link nothing

    if links is None:
        return ()
    items = tuple(links) if isinstance(links, (list, tuple, set, frozenset)) else (links,)
    for item in items:
        if not isinstance(item, (str, os.PathLike, LinkableCode)):
            raise TypeError(
                f"link: a path or linkable code (cuda.PTXSource, cuda.CUSource) is expected, got {item!r}"
            )
    return items


def images_of(links: dict[Any, Any]) -> list[Any]:
    """The images of the device functions in paths and LinkableCode objects; each named once.

    :raises LinkerError: for files that are not there, kinds that cannot be simulated, and text that is wrong
    """
    found = {}
    for link in links:
        text, name = _ptx_of(link, _image)
        found[name, text] = _image(text, name)
    return list(found.values())


def module_image(text: str, name: str) -> Any:
    """The image of PTX text with its kernels, for a module of its own.

    :raises _native.PtxError: for text that is wrong
    """
    return _native.linked_image([_native.read_ptx(text, name, kernels=True)])


def image_with_kernels(code: LinkableCode) -> Any:
    """LinkableCode as an image, its kernels too.

    :raises LinkerError: for kinds that cannot be simulated, and text that is wrong
    """
    text, name = _ptx_of(code, _image_with_kernels)
    return _image_with_kernels(text, name)


def _image(text, name):
    if (name, text) not in _images:
        _images[name, text] = _read(text, name, False)
    return _images[name, text]


def _image_with_kernels(text, name):
    return _read(text, name, True)


def _read(text, name, kernels):
    try:
        return _native.read_ptx(text, name, kernels)
    except _native.PtxError as error:
        reason, line = error.args
        raise LinkerError(f"{name}, line {line}: {reason}") from None


def _ptx_of(link, read):
    """PTX text that `read` takes, and the name that reports give it."""
    # most programs link nothing
    from cudasim.compile.linkable_code import CUSource, LinkableCode, PTXSource, kind_of_file

    if not isinstance(link, LinkableCode):
        kind_of_file(link)
    name = link.name if isinstance(link, LinkableCode) else os.fspath(link)
    try:
        code = LinkableCode.from_path_or_obj(link)
    except FileNotFoundError:
        raise LinkerError(f"{name} not found") from None
    text: Any = code.data
    if isinstance(text, bytes) and isinstance(code, (PTXSource, CUSource)):
        text = text.decode(errors="surrogateescape")  # comments may be in any encoding
    if isinstance(code, PTXSource):
        return text.rstrip("\0"), name
    if isinstance(code, CUSource):
        return _readable_ptx(text, name, read), name
    raise LinkerError(
        f"{name}: {code.kind} holds code for one kind of GPU, which cannot be simulated; link PTX instead (nvcc -ptx -rdc=true)"
    )


def _readable_ptx(source, name, read):
    """CUDA C++ as PTX for the current device. Where that has instructions that are not known here: for the oldest device, for
    which nvcc writes out what newer ones do in one."""
    major, minor = max(current_device().compute_capability, _OLDEST)
    text = compiled_cu(source, name, f"sm_{major}{minor}")
    try:
        read(text, name)
    except LinkerError as refusal:
        try:
            text = compiled_cu(source, name, "sm_{}{}".format(*_OLDEST))
            read(text, name)
        except LinkerError:
            raise refusal from None
    return text


def nvcc() -> str | None:
    """The path of nvcc, or None."""
    beside = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    for root in filter(None, beside):
        if os.access(os.path.join(root, "bin", "nvcc"), os.X_OK):
            return os.path.join(root, "bin", "nvcc")
    return shutil.which("nvcc")


_compilations: dict[Any, Any] = {}


def compiled_cu(source: str, name: str, architecture: str, flags: tuple[str, ...] = ("-lineinfo",)) -> str:
    """CUDA C++ as PTX, by nvcc. :raises LinkerError: without nvcc, and with what it says"""
    import subprocess  # here: most programs link nothing, and every one imports this module
    import tempfile

    key = name, source, architecture, flags
    if key in _compilations:
        return _compilations[key]
    compiler = nvcc()
    if compiler is None:
        raise LinkerError(
            f"{name}: compiling CUDA C++ needs nvcc of a CUDA toolkit (CUDA_HOME, or on PATH), which was not found; "
            "compile it elsewhere with nvcc -ptx -rdc=true and link the PTX"
        )
    with tempfile.TemporaryDirectory() as folder:
        path, output = os.path.join(folder, "source.cu"), os.path.join(folder, "code.ptx")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f'#line 1 "{name}"\n{source}')
        beside = ["-I", os.path.dirname(os.path.abspath(name))] if os.path.exists(name) else []
        done = subprocess.run(
            [compiler, "-ptx", "-rdc=true", *flags, f"-arch={architecture}", *beside, path, "-o", output],
            capture_output=True, encoding="utf-8", errors="surrogateescape",
        )  # fmt: skip
        if done.returncode != 0:
            raise LinkerError(f"{name}: nvcc says:\n{done.stdout}{done.stderr}")
        with open(output, encoding="utf-8", errors="surrogateescape") as file:
            _compilations[key] = file.read()
    return _compilations[key]
