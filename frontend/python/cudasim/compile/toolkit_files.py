"""Where the files of a CUDA toolkit are, if there is one: numba.cuda.cudadrv.libs. cudasim needs none of them."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.compile import libdevice

if TYPE_CHECKING:
    from typing import Any


def test() -> bool:
    """Prints where the toolkit's libraries are, of which none is needed; True."""
    print("cudasim needs no CUDA libraries. Of a CUDA toolkit on this machine it finds")
    for name, path in (
        ("nvvm", get_cudalib("nvvm")),
        ("nvrtc", get_cudalib("nvrtc")),
        ("cudadevrt", get_cudalib("cudadevrt", static=True)),
        ("libdevice", get_libdevice()),
        ("include directory", _include_dir()),
    ):
        print(f"\t{name}: {path if path and os.path.exists(path) else 'not found'}")
    return True


def get_libdevice() -> Any:
    """The path of libdevice's bitcode, or None."""
    library = libdevice.found(libdevice.given_path())
    return None if library is None else library.path


def open_libdevice() -> Any:
    """The bytes of libdevice. :raises FileNotFoundError: when there is no toolkit"""
    path = get_libdevice()
    if path is None:
        raise FileNotFoundError("libdevice not found: there is no CUDA toolkit on this machine")
    with open(path, "rb") as file:
        return file.read()


def _include_dir():
    header = _native.find_toolkit_file("include/cuda.h")
    return None if header is None else os.path.dirname(header)


def get_cuda_include_dir() -> Any:
    """The toolkit's folder of headers. :raises FileNotFoundError: when there is no toolkit"""
    folder = _include_dir()
    if folder is None:
        raise FileNotFoundError("CUDA include directory not found: there is no CUDA toolkit on this machine")
    return folder


def get_cudalib(lib: Any, static: bool = False) -> Any:
    """The path of a library of the toolkit; its file's name alone where there is none, for the system to look for."""
    file = f"lib{lib}.{'a' if static else 'so'}"
    for folder in ("lib64", "lib", "nvvm/lib64"):
        path = _native.find_toolkit_file(f"{folder}/{file}")
        if path is not None:
            return path
    return file


def open_cudalib(lib: Any) -> Any:
    """The library of the toolkit, loaded. :raises OSError: when it is not there"""
    return ctypes.CDLL(get_cudalib(lib))


def check_static_lib(path: Any) -> None:
    """:raises FileNotFoundError: when the file is not there"""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path} not found")


def check_cuda_include_dir(path: Any) -> None:
    """:raises FileNotFoundError: when the folder is not there"""
    if path is None or not os.path.isdir(path):
        raise FileNotFoundError(f"{path} not found")
