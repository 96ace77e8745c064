"""numba.cuda.cudadrv.nvvm: cudasim compiles with LLVM and needs no libNVVM; what programs ask of it is answered."""

from cudasim._cuda_errors import NvvmError, NvvmSupportError, NvvmWarning  # noqa: F401


def is_available():
    """True: kernels can be compiled."""
    return True


class NVVM:
    """libNVVM as programs ask for its version; it is the one whose IR cudasim's images have."""

    def get_version(self):
        """The version of NVVM IR."""
        return 2, 0

    def get_ir_version(self):
        """The versions of NVVM IR and of its debug information."""
        return 2, 0, 3, 1
