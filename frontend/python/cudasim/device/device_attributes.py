"""The CUDA driver's device attributes (CUDA Driver API, enum CUdevice_attribute), which numba.cuda's devices have as attributes in
capitals. The table is simulator/driver/device_attributes.def.
"""

from __future__ import annotations

import functools

from cudasim import _native


@functools.cache
def numbers() -> dict[str, int]:
    """Name without CU_DEVICE_ATTRIBUTE_ → the driver's number; _native.Context.attribute() has the values."""
    return _native.device_attribute_numbers()
