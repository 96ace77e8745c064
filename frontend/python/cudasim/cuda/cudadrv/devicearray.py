"""numba.cuda.cudadrv.devicearray's names."""

from cudasim.cuda.device_array import (  # noqa: F401
    DeviceNDArray,
    auto_device,
    is_cuda_ndarray,
)
