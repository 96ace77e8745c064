"""numba.cuda.cudadrv.nvvm's names."""
# ruff: noqa: F401

from cudasim._cuda_errors import NvvmError, NvvmSupportError, NvvmWarning
from cudasim.compile.nvvm import NVVM, CompilationUnit, LibDevice, compile_ir, is_available
from cudasim.compile.toolkit_files import get_libdevice, open_libdevice
