"""The folder that looks like a CUDA toolkit: where it lies, and the environment in which build systems find it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cudasim import native_programs


class NoToolkitError(Exception):
    """The folder is not part of this installation."""


def folder() -> str:
    """The absolute path of the folder, with bin/nvcc in it.

    :raises NoToolkitError: where the installation has none
    """
    compiler = native_programs.path(os.path.join("toolkit", "bin", "nvcc"))
    if compiler is None:
        raise NoToolkitError(
            "this installation of cudasim was built without CUDA C++: there is no toolkit/bin/nvcc beside its extensions"
        )
    return os.path.abspath(os.path.dirname(os.path.dirname(compiler)))


def nvcc() -> str:
    """The path of nvcc. :raises NoToolkitError: as folder()"""
    return os.path.join(folder(), "bin", "nvcc")


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables with which makefiles, CMake and scripts find the folder.

    :param environment: the one that they are for, whose PATH and LD_LIBRARY_PATH are kept behind the folder's
    :raises NoToolkitError: as folder()
    """
    root = folder()
    libraries = os.path.join(root, "lib64")
    return {
        "PATH": _before(os.path.join(root, "bin"), environment.get("PATH", os.defpath)),
        "CUDA_HOME": root,
        "CUDA_PATH": root,
        "CUDA_ROOT": root,
        "CUDACXX": os.path.join(root, "bin", "nvcc"),
        "CUDAToolkit_ROOT": root,
        # Executables that a host compiler links find libcudart.so where it lies (ld's manual, -rpath).
        "LD_RUN_PATH": _before(libraries, environment.get("LD_RUN_PATH", "")),
        "LD_LIBRARY_PATH": _before(libraries, environment.get("LD_LIBRARY_PATH", "")),
    }


def _before(path, rest):
    others = [part for part in rest.split(os.pathsep) if part and part != path]
    return os.pathsep.join([path, *others])
