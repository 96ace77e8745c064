"""numba.cuda.cudadrv.libs: where CUDA's libraries are. cudasim uses none; those of a toolkit are found if there is one."""

import os

from cudasim import _native


def test():
    """Prints that no library is needed; True."""
    print("cudasim needs no CUDA libraries")
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


def get_cuda_include_dir():
    """The toolkit's folder of headers. :raises FileNotFoundError: when there is no toolkit"""
    header = _native.find_toolkit_file("include/cuda.h")
    if header is None:
        raise FileNotFoundError("CUDA include directory not found: there is no CUDA toolkit on this machine")
    return os.path.dirname(header)


def get_cudalib(lib, static=False):
    """The path of a library of the toolkit. :raises FileNotFoundError: when it is not there"""
    file = f"lib{lib}.{'a' if static else 'so'}"
    path = _native.find_toolkit_file(f"lib64/{file}")
    if path is None:
        raise FileNotFoundError(f"{file} not found: there is no CUDA toolkit on this machine, or it has no such library")
    return path


def check_static_lib(path):
    """:raises FileNotFoundError: when the file is not there"""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path} not found")
