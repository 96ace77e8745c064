"""numba.cuda.cudadrv.libs: where CUDA's libraries are. cudasim uses none; those of a toolkit are found if there is one."""

import ctypes
import os

from cudasim import _native


def test():
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


def get_libdevice():
    """The path of libdevice's bitcode, or None."""
    return _native.find_toolkit_file("nvvm/libdevice/libdevice.10.bc")


def open_libdevice():
    """The bytes of libdevice. :raises FileNotFoundError: when there is no toolkit"""
    path = get_libdevice()
    if path is None:
        raise FileNotFoundError("libdevice not found: there is no CUDA toolkit on this machine")
    with open(path, "rb") as file:
        return file.read()


def _include_dir():
    header = _native.find_toolkit_file("include/cuda.h")
    return None if header is None else os.path.dirname(header)


def get_cuda_include_dir():
    """The toolkit's folder of headers. :raises FileNotFoundError: when there is no toolkit"""
    folder = _include_dir()
    if folder is None:
        raise FileNotFoundError("CUDA include directory not found: there is no CUDA toolkit on this machine")
    return folder


def get_cudalib(lib, static=False):
    """The path of a library of the toolkit; its file's name alone where there is none, for the system to look for."""
    file = f"lib{lib}.{'a' if static else 'so'}"
    for folder in ("lib64", "lib", "nvvm/lib64"):
        path = _native.find_toolkit_file(f"{folder}/{file}")
        if path is not None:
            return path
    return file


def open_cudalib(lib):
    """The library of the toolkit, loaded. :raises OSError: when it is not there"""
    return ctypes.CDLL(get_cudalib(lib))


def check_static_lib(path):
    """:raises FileNotFoundError: when the file is not there"""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path} not found")


def check_cuda_include_dir(path):
    """:raises FileNotFoundError: when the folder is not there"""
    if path is None or not os.path.isdir(path):
        raise FileNotFoundError(f"{path} not found")
