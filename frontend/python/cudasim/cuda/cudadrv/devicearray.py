"""numba.cuda.cudadrv.devicearray's names."""

from cudasim.memory.array_functions import (  # noqa: F401
    auto_device,
    from_array_like,
    from_record_like,
    is_cuda_ndarray,
    require_cuda_ndarray,
    verify_cuda_ndarray_interface,
)
from cudasim.memory.device_array import DeviceNDArray  # noqa: F401
from cudasim.memory.device_contents import DeviceNDArrayBase  # noqa: F401
from cudasim.memory.device_record import DeviceRecord  # noqa: F401
from cudasim.memory.host_visible_arrays import ManagedNDArray, MappedNDArray  # noqa: F401
from cudasim.memory.ipc import IpcArrayHandle  # noqa: F401
from cudasim.type_system.array_compatibility import (  # noqa: F401
    array_core,
    check_array_compatibility,
    errmsg_contiguous_buffer,
)
from cudasim.type_system.array_compatibility import check_contiguous as sentry_contiguous  # noqa: F401
from cudasim.type_system.array_compatibility import is_contiguous_core as is_contiguous  # noqa: F401
