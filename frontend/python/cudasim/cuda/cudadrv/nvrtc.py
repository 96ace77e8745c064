"""numba.cuda.cudadrv.nvrtc."""
# ruff: noqa: F401

from cudasim.compile.nvrtc import (
    CCSupportError,
    NvrtcCompilationError,
    NvrtcSupportError,
    compile,
    find_closest_arch,
    get_arch_option,
    get_lowest_supported_cc,
    get_supported_ccs,
)
