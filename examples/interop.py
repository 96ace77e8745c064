"""Device memory of another library, without a copy: whatever has __cuda_array_interface__ is a kernel's argument.

ENABLE_CUDASIM=1 python examples/interop.py
"""

import numpy as np
from numba import cuda


class Tensor:
    """Stands for the array of another library: it owns device memory and describes it, nothing more."""

    def __init__(self, values):
        self._memory = cuda.to_device(values)

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self._memory.shape,
            "strides": None,
            "typestr": self._memory.dtype.str,
            "data": (self._memory.__cuda_array_interface__["data"][0], False),
            "version": 3,
        }


@cuda.jit
def scale(values, factor):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= factor


def scaled(values, factor):
    tensor = Tensor(values)
    scale.forall(values.size)(tensor, factor)
    return cuda.as_cuda_array(tensor).copy_to_host()


def main():
    values = np.arange(1000, dtype=np.float32)
    assert cuda.is_cuda_array(Tensor(values))
    assert np.array_equal(scaled(values, 2), values * 2)
    print("interop: 1000 elements of another library scaled in place")


if __name__ == "__main__":
    main()
