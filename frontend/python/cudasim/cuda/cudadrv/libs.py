"""numba.cuda.cudadrv.libs' names."""
# ruff: noqa: F401

from cudasim.compile.toolkit_files import (
    check_cuda_include_dir,
    check_static_lib,
    get_cuda_include_dir,
    get_cudalib,
    get_libdevice,
    open_cudalib,
    open_libdevice,
    test,
)
