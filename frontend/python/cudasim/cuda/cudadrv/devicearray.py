"""numba.cuda.cudadrv.devicearray's names."""

from cudasim.cuda.array_functions import auto_device, is_cuda_ndarray  # noqa: F401
from cudasim.cuda.device_array import DeviceNDArray  # noqa: F401
